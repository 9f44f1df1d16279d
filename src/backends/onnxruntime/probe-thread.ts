/** Entry of the worker thread that opens models for a moment: what they look like, how long a run takes. */
import { type MessagePort, parentPort } from 'node:worker_threads';
import { elementCount, elementSize } from '../../protocol/datatype.js';
import { TritonError } from '../../protocol/error.js';
import type { Tensor } from '../../protocol/tensor.js';
import { datatypeOfElementType } from './onnx-types.js';
import { OpenSession } from './open-session.js';
import type { FromProbe, ToProbe } from './worker-messages.js';

const port = parentPort as MessagePort;

/** A first run longer than this is not repeated, in ns. */
const LONG_RUN_NS = 5_000_000;
const REPEATS = 5;

port.on('message', (message: ToProbe) => {
  if (message.kind === 'close') {
    port.close();
    return;
  }
  const { id, open, rows } = message;
  try {
    const session = new OpenSession(open);
    const runNs = rows.length === 0 ? undefined : measure(session, rows);
    port.postMessage({ kind: 'probed', id, info: session.info, runNs } satisfies FromProbe);
    session.dispose();
  } catch (reason) {
    const { code, message: text } = TritonError.from(reason);
    port.postMessage({ kind: 'refused', id, code, message: text } satisfies FromProbe);
  }
});

/** Fastest of some runs with zeros, for each number of rows; of these the slowest. */
function measure(session: OpenSession, rows: readonly number[]): number | undefined {
  let slowest = 0;
  try {
    const outputs = session.info.outputs.map((output) => output.name);
    for (const count of rows) {
      const inputs = session.info.inputs.map((input) => zeros(input.name, input.type ?? 0, input.shape ?? [], count));
      let fastest = Number.POSITIVE_INFINITY;
      for (let i = 0; i < REPEATS; i++) {
        const { times } = session.run(inputs, outputs);
        const ns = times.computeEnd - times.computeStart;
        if (ns < fastest) fastest = ns;
        if (i === 0 && ns > LONG_RUN_NS) break;
      }
      if (fastest > slowest) slowest = fastest;
    }
    return slowest;
  } catch {
    return undefined; // zeros do not suit every model: nothing is known about it then
  }
}

function zeros(name: string, elementType: number, dims: readonly number[], rows: number): Tensor {
  const datatype = datatypeOfElementType(elementType);
  if (datatype === undefined) throw new TritonError('UNSUPPORTED', `no zeros for element type ${elementType}`);
  const shape = dims.map((dim, index) => (index === 0 && rows > 0 ? rows : Math.max(dim, dim === 0 ? 0 : 1)));
  const count = elementCount(shape);
  if (datatype !== 'BYTES') return { name, datatype, shape, data: new Uint8Array(count * elementSize(datatype)) };
  // The text '0' suits more models than an empty one: strings often stand for numbers.
  const data = new Uint8Array(count * 5);
  for (let i = 0; i < count; i++) data.set([1, 0, 0, 0, 0x30], i * 5);
  return { name, datatype, shape, data };
}
