import type { TensorMetadata } from '../../protocol/tensor.js';

/** A tensor's shape for metadata: dimensions beyond 2^53 come from the configuration, as numbers they are rounded. */
export function exactShape(
  { name, shape }: TensorMetadata,
  configured: readonly { readonly name: string; readonly dims: readonly bigint[] }[],
): bigint[] {
  const dims = configured.find((tensor) => tensor.name === name)?.dims;
  if (dims === undefined || shape.every(Number.isSafeInteger)) return shape.map(BigInt);
  return [...shape.slice(0, shape.length - dims.length).map(BigInt), ...dims];
}
