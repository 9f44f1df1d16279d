import type { ReadyModel } from '../../../src/contract/engine.js';
import type { InferenceRequest } from '../../../src/contract/request.js';
import { infer } from './engine-harness.js';

/** Runs that are tried at most: on a busy machine some of a quick model take long. */
const MOST_RUNS = 5000;

/** Repeats a request until the log says that the model moved to the main thread; throws when it does not. */
export async function earnMainThread(
  log: readonly string[],
  name: string,
  model: ReadyModel,
  request: InferenceRequest,
): Promise<void> {
  const moved = `model '${name}' version 1 moves to the main thread: `;
  for (let i = 0; i < MOST_RUNS; i++) {
    if (log.some((line) => line.includes(moved))) return;
    const { error } = await infer(model, request);
    if (error !== undefined) throw error;
  }
  throw new Error(`'${name}' never moved to the main thread:\n${log.join('\n')}`);
}
