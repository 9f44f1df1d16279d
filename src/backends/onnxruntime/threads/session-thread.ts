/** Entry of a worker thread that holds sessions and runs what it is sent, in order. */
import { type MessagePort, parentPort } from 'node:worker_threads';
import { TritonError } from '../../../base/error.js';
import type { Tensor } from '../../../protocol/tensor.js';
import { OpenSession } from '../session/open-session.js';
import { loadOrtBinding } from '../session/ort-binding.js';
import type { FromThread, ToThread } from './worker-messages.js';

const port = parentPort as MessagePort;

/** Sessions by number; one that could not be opened answers every run with the reason. */
const sessions = new Map<number, OpenSession | TritonError>();

function handle(message: ToThread): void {
  if (message.kind === 'close') {
    for (const session of sessions.keys()) dispose(session);
    port.close();
  } else if (message.kind === 'dispose') dispose(message.session);
  else {
    try {
      if (message.kind === 'open') open(message);
      else run(message);
    } catch (reason) {
      const { code, message: text } = TritonError.from(reason);
      port.postMessage({ kind: 'failed', id: message.id, code, message: text } satisfies FromThread);
    }
  }
}

function open({ id, session, open }: Extract<ToThread, { kind: 'open' }>): void {
  try {
    const opened = new OpenSession(open);
    sessions.set(session, opened);
    port.postMessage({ kind: 'opened', id, info: opened.info } satisfies FromThread);
  } catch (reason) {
    sessions.set(session, TritonError.from(reason));
    throw reason;
  }
}

function run({ id, session: number, inputs, outputs: names }: Extract<ToThread, { kind: 'run' }>): void {
  const session = sessions.get(number);
  if (session === undefined) throw new TritonError('INTERNAL', `no session ${number} in the thread of onnxruntime`);
  if (session instanceof TritonError) throw session;
  const { outputs, times } = session.run(inputs, names);
  port.postMessage({ kind: 'ran', id, outputs, times } satisfies FromThread, buffersOf(outputs));
}

function dispose(number: number): void {
  const session = sessions.get(number);
  sessions.delete(number);
  if (session instanceof OpenSession) session.dispose();
}

/** Each output owns its memory, so it is handed over and not copied; two outputs may share one buffer. */
function buffersOf(tensors: readonly Tensor[]): ArrayBuffer[] {
  return [...new Set(tensors.map((tensor) => tensor.data.buffer as ArrayBuffer))];
}

loadOrtBinding();
port.on('message', handle);
// Memory was too short to take a message in: which one is not known, so the thread ends and every run in it fails.
port.on('messageerror', (reason) => {
  throw reason;
});
port.postMessage({ kind: 'ready' } satisfies FromThread);
