import { TritonError } from '../../../base/error.js';

/** Codes of the runtime by the phrases of its messages: the binding hands the text on without the code. */
const CODES: readonly (readonly [phrase: RegExp, code: number])[] = [
  [/Protobuf parsing failed/, 7],
  [/This is an invalid model/, 10],
  [/Could not find an implementation/, 9],
  [/Invalid output name/, 2],
];

/** An error of the runtime as the server words it: INTERNAL `onnx runtime error <code>: <text>`. */
export function ortError(reason: unknown): TritonError {
  if (reason instanceof TritonError) return reason;
  const text = reason instanceof Error ? reason.message : String(reason);
  const code = CODES.find(([phrase]) => phrase.test(text))?.[1] ?? 1;
  return new TritonError('INTERNAL', `onnx runtime error ${code}: ${text}`, { cause: reason });
}
