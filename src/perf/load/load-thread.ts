/** A load thread: owns connections and workers, and does what the main thread says. */
import { parentPort, workerData } from 'node:worker_threads';
import { createClient } from '../../client/create-client.js';
import type { InferenceServerClient } from '../../client/index.js';
import { LoadLog } from './load-log.js';
import type { LoadCommand, LoadResponse, LoadSetup, WorkerAssignment } from './load-messages.js';
import { LoadWorker, type WorkerEnvironment } from './load-worker.js';
import { RequestMaker } from './request-maker.js';
import { SendTimer } from './send-timer.js';
import { type Sender, StreamSender, UnarySender } from './sender.js';
import { SequenceIds, SequenceSlot } from './sequence-slot.js';

/** Contexts of perf_analyzer that share one gRPC connection; the first connection also serves its main thread. */
const CONTEXTS_PER_CONNECTION = 6;

const { setup, thread, threads } = workerData as { setup: LoadSetup; thread: number; threads: number };
if (parentPort === null) throw new Error('this file runs in a load thread only');
const port = parentPort;

const maker = new RequestMaker(setup);
const log = new LoadLog((failure) => respond({ type: 'failed', failure }));
const workers = new Map<number, LoadWorker>();
const clients: InferenceServerClient[] = [];
const sequenceIds = setup.sequences && new SequenceIds(setup.sequences, thread, threads);
const stepsOfStreams = setup.data.streams.map((steps) => steps.length);
const timer = new SendTimer(() => workers.values());
let contexts = 1;

/** Clients are made ahead: an idle one costs nothing, and making one is asynchronous. */
const spare: InferenceServerClient[] = [];

const environment: WorkerEnvironment = {
  setup,
  maker,
  log,
  newSender,
  newSequenceSlot: () => new SequenceSlot(setup.sequences!, sequenceIds!, stepsOfStreams),
  wake: () => timer.wake(),
};

port.on('message', (command: LoadCommand) => {
  if (command.type === 'collect') collect();
  else if (command.type === 'assign') void assign(command.workers, command.activeWorkers);
  else void stop();
});
void start();

async function start(): Promise<void> {
  spare.push(await createClient(setup.client));
  respond({ type: 'ready' });
}

async function assign(assignments: readonly WorkerAssignment[], activeWorkers: number): Promise<void> {
  const needed = assignments.reduce((sum, { slots }) => sum + slots, 0);
  while (spare.length < needed && setup.client.protocol === 'http') spare.push(await createClient(setup.client));
  while (spare.length < Math.ceil(needed / CONTEXTS_PER_CONNECTION) + 1 && setup.client.protocol === 'grpc') {
    spare.push(await createClient(setup.client));
  }
  const kept = new Map(assignments.map((assignment) => [assignment.index, assignment]));
  // Sequences are closed before their number changes; other workers without a share end at once.
  const ending = [...workers.values()].filter((worker) => setup.sequences !== undefined || !kept.has(worker.index));
  await Promise.all(ending.map((worker) => worker.drain()));
  for (const assignment of assignments) {
    const worker = workers.get(assignment.index);
    if (worker === undefined) {
      workers.set(assignment.index, new LoadWorker(assignment, activeWorkers, environment));
    } else worker.assign(assignment, activeWorkers);
  }
  respond({ type: 'assigned' });
  for (const worker of workers.values()) if (kept.has(worker.index)) worker.fill();
  if (assignments.some((assignment) => assignment.schedule !== undefined)) timer.wake();
}

function collect(): void {
  const active = [...workers.values()].filter((worker) => worker.isActive).length;
  const taken = log.take(active);
  port.postMessage({ type: 'collected', ...taken } satisfies LoadResponse, [taken.records.buffer as ArrayBuffer]);
}

async function stop(): Promise<void> {
  timer.stop();
  await Promise.all([...workers.values()].map((worker) => worker.drain()));
  await Promise.all([...workers.values()].map((worker) => worker.close()));
  await Promise.all([...clients, ...spare].map((client) => client.close()));
  respond({ type: 'stopped' });
  port.close();
}

function newSender(): Sender {
  const client = nextClient();
  const options = {
    headers: setup.headers,
    wantResults: setup.keepDetails || setup.data.streams.some((steps) => steps.some((step) => step.expected)),
    async: setup.async,
  };
  return setup.streaming ? new StreamSender(client, maker, options) : new UnarySender(client, maker, options);
}

/** HTTP: a client, so a connection, for every context. gRPC: as many contexts on one as perf_analyzer has. */
function nextClient(): InferenceServerClient {
  const shared =
    setup.client.protocol === 'grpc' && contexts % CONTEXTS_PER_CONNECTION !== 0 ? clients.at(-1) : undefined;
  contexts += 1;
  if (shared !== undefined) return shared;
  const client = spare.shift();
  if (client === undefined) throw new Error('no client was made ahead');
  clients.push(client);
  return client;
}

function respond(message: LoadResponse): void {
  port.postMessage(message);
}
