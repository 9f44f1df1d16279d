/** One thread of the bare in-process loop: runs a session over and over and posts how many runs it did per second. */
import { parentPort, workerData } from 'node:worker_threads';
import * as ort from 'onnxruntime-node';

interface LoopData {
  readonly graph: string;
  readonly inputName: string;
  readonly shape: number[];
  readonly seconds: number;
  /** Counts the threads that are ready, so that all start together. */
  readonly ready: Int32Array;
  readonly threads: number;
}

const { graph, inputName, shape, seconds, ready, threads } = workerData as LoopData;
const session = await ort.InferenceSession.create(graph, {
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  extra: { session: { intra_op: { allow_spinning: '0' } } },
});
const size = shape.reduce((a, b) => a * b);
const input = new ort.Tensor(
  'float32',
  new Float32Array(size).map((_, k) => k / size),
  shape,
);
await session.run({ [inputName]: input });

Atomics.add(ready, 0, 1);
Atomics.notify(ready, 0);
for (let seen = Atomics.load(ready, 0); seen < threads; seen = Atomics.load(ready, 0)) Atomics.wait(ready, 0, seen);

const begin = performance.now();
const end = begin + seconds * 1000;
let count = 0;
while (performance.now() < end) {
  await session.run({ [inputName]: input });
  count++;
}
parentPort?.postMessage(count / ((performance.now() - begin) / 1000));
await session.release();
