/** Entry of a worker thread that holds one session and runs what it is sent, in order. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { TritonError } from '../../protocol/error.js';
import type { Tensor } from '../../protocol/tensor.js';
import { type OpenRequest, OpenSession } from './open-session.js';
import type { FromSession, ToSession } from './worker-messages.js';

const port = parentPort as MessagePort;

function main(): void {
  let session: OpenSession;
  try {
    session = new OpenSession(workerData as OpenRequest);
  } catch (reason) {
    const { code, message } = TritonError.from(reason);
    port.postMessage({ kind: 'refused', code, message } satisfies FromSession);
    return;
  }
  port.on('message', (message: ToSession) => {
    if (message.kind === 'run') run(session, message);
    else {
      session.dispose();
      port.close();
    }
  });
  port.postMessage({ kind: 'opened', info: session.info } satisfies FromSession);
}

function run(session: OpenSession, { id, inputs, outputs: names }: Extract<ToSession, { kind: 'run' }>): void {
  try {
    const { outputs, times } = session.run(inputs, names);
    port.postMessage({ kind: 'ran', id, outputs, times } satisfies FromSession, buffersOf(outputs));
  } catch (reason) {
    const { code, message } = TritonError.from(reason);
    port.postMessage({ kind: 'failed', id, code, message } satisfies FromSession);
  }
}

/** Each output owns its memory, so it is handed over and not copied; two outputs may share one buffer. */
function buffersOf(tensors: readonly Tensor[]): ArrayBuffer[] {
  return [...new Set(tensors.map((tensor) => tensor.data.buffer as ArrayBuffer))];
}

main();
