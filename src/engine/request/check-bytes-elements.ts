import { invalidArg } from '../../base/error.js';
import type { RequestInput } from '../../contract/request.js';
import type { ModelPlan } from '../../modelconfig/plan/model-plan.js';
import { requestPrefix } from '../../protocol/infer/request-prefix.js';

/**
 * Walks the elements of a BYTES tensor (4-byte little-endian length before each) and compares their number with the
 * shape's. Unlike in Triton, an element that runs past the end is refused here and not left to the backend.
 */
export function checkBytesElements(plan: ModelPlan, requestId: string, input: RequestInput, expected: number): void {
  const { data, name } = input;
  const end = data.byteLength;
  let count = 0;
  let position = 0;
  while (position < end) {
    if (end - position < 4) {
      throw invalidArg(
        `${requestPrefix(requestId)}incomplete string length indicator for inference input '${name}' for model ` +
          `'${plan.name}', expecting 4 bytes but only ${end - position} bytes available. ` +
          'Please make sure the string length indicator is in one buffer.',
      );
    }
    if (count >= expected) {
      throw invalidArg(
        `${requestPrefix(requestId)}unexpected number of string elements ${count + 1} for inference input '${name}' ` +
          `for model '${plan.name}', expecting ${expected}`,
      );
    }
    const length =
      (data[position]! | (data[position + 1]! << 8) | (data[position + 2]! << 16) | (data[position + 3]! << 24)) >>> 0;
    position += 4;
    count++; // also when it is cut short
    if (length > end - position) {
      if (count < expected) break;
      throw invalidArg(
        `incomplete string data for inference input '${name}', expecting string of length ${length} ` +
          `but only ${end - position} bytes available`,
      );
    }
    position += length;
  }
  if (count !== expected) {
    throw invalidArg(
      `${requestPrefix(requestId)}expected ${expected} string elements for inference input '${name}' ` +
        `for model '${plan.name}', got ${count}`,
    );
  }
}
