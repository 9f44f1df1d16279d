import { cpSync } from 'node:fs';
import path from 'node:path';
import type { ReadyModel } from '../../src/contract/engine.js';
import type { InferenceRequest } from '../../src/contract/request.js';
import { Engine } from '../../src/engine/engine.js';
import { writeFiles } from '../../test/support/machine/temporary-directory.js';
import { median } from '../measure.js';
import { ROOT } from '../server-process.js';
import type { BenchContext, Row } from './context.js';

const QUIET = { info() {}, warning() {}, error() {}, verbose() {} };
const SHAPE = [1, 16];

/** The steps: `simple` (sum and difference of two INT32 [16]) on what the step before made of it. */
function step(first: string, second: string, sum: string, difference: string): string {
  return `step { model_name: "simple" model_version: -1
    input_map { key: "INPUT0" value: "${first}" } input_map { key: "INPUT1" value: "${second}" }
    output_map { key: "OUTPUT0" value: "${sum}" } output_map { key: "OUTPUT1" value: "${difference}" } }`;
}

const CHAIN = [step('INPUT0', 'INPUT1', 's', 'd'), step('s', 'd', 'x', 'y'), step('x', 'y', 'OUTPUT0', 'OUTPUT1')];

/**
 * An ensemble of three runs of `simple` beside the three runs asked for one by one, inside the process: time per request
 * at concurrency 1. What clients save by sending one request instead of three is not in it.
 */
export async function ensembleRows(context: BenchContext): Promise<Row[]> {
  const repository = path.join(context.folder, 'ensemble');
  cpSync(path.join(ROOT, 'fixtures/models/simple'), path.join(repository, 'simple'), { recursive: true });
  const io = (kind: string): string =>
    [0, 1].map((i) => `${kind} { name: "${kind.toUpperCase()}${i}" data_type: TYPE_INT32 dims: 16 }`).join(' ');
  writeFiles(path.join(repository, 'chain'), {
    '1/': '',
    'config.pbtxt': `platform: "ensemble" max_batch_size: 8 ${io('input')} ${io('output')}
    ensemble_scheduling { ${CHAIN.join(' ')} }`,
  });
  const engine = await Engine.start({
    ...{ repositories: [repository], backendConfig: [], autoComplete: true, modelControlMode: 'none', loadModels: [] },
    ...{ strictReadiness: true, log: QUIET },
  });
  try {
    const chain = engine.model('chain', '');
    const simple = engine.model('simple', '');
    const count = 2000;
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let round = 0; round <= 4 * context.rounds; round++) {
      const ensemble = await timeOf(chain, count, 1);
      const steps = await timeOf(simple, count, CHAIN.length);
      if (round === 0) continue;
      ours.push(ensemble);
      theirs.push(steps);
    }
    return [
      {
        what: `ensemble of ${CHAIN.length} steps of simple, in the process, concurrency 1`,
        ours: `${median(ours).toFixed(1)} us`,
        reference: `its steps one by one: ${median(theirs).toFixed(1)} us`,
        ratio: median(ours.map((value, i) => value / (theirs[i] as number))).toFixed(2),
        target: '<= 1.10',
      },
    ];
  } finally {
    await engine.stop(10_000);
  }
}

/** Microseconds per `times` requests one after the other. */
async function timeOf(model: ReadyModel, count: number, times: number): Promise<number> {
  const data = new Uint8Array(Int32Array.from({ length: 16 }, (_, i) => i).buffer);
  const start = performance.now();
  for (let i = 0; i < count * times; i++) {
    const request: InferenceRequest = {
      ...{ id: '', requestedOutputs: [], parameters: [], correlationId: 0n, sequenceStart: false, sequenceEnd: false },
      ...{ priority: 0n, timeoutMicroseconds: 0n },
      inputs: ['INPUT0', 'INPUT1'].map((name) => ({ name, datatype: 'INT32', shape: SHAPE, data })),
    };
    await new Promise<void>((resolve, reject) => {
      model.submit(request, (response, final) => {
        if (response?.error !== undefined) reject(response.error);
        else if (final) resolve();
      });
    });
  }
  return ((performance.now() - start) * 1000) / count;
}
