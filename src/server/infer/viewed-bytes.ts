import type { InferenceRequest } from '../../contract/request.js';

/**
 * Bytes of a request's tensors that are views on the message they came in. The engine counts tensors from admission to the
 * last response; so for these bytes the front end hands its own count over, or they would be counted twice.
 */
export function viewedBytes({ inputs, raw }: InferenceRequest, message: Uint8Array): number {
  let bytes = raw?.buffer === message.buffer ? raw.byteLength : 0;
  for (let i = 0; i < inputs.length; i++) {
    const { data } = inputs[i]!;
    if (data.buffer === message.buffer) bytes += data.byteLength;
  }
  return bytes;
}
