import path from 'node:path';
import { nowNs, SYSTEM_CLOCK } from '../../src/base/clock.js';
import { silentLog } from '../../src/base/log.js';
import type { BackendInstance, ExecutionTimes } from '../../src/contract/backend.js';
import { createScheduler } from '../../src/engine/models/version/create-scheduler.js';
import { validateRequest } from '../../src/engine/request/validate-request.js';
import { InstanceRunner } from '../../src/engine/schedule/instance-runner.js';
import { Task, type TaskOwner } from '../../src/engine/schedule/task.js';
import { ModelStatistics } from '../../src/engine/statistics/model-statistics.js';
import { newFailureCounts } from '../../src/engine/statistics/version-counters.js';
import { normalizeModelConfig } from '../../src/modelconfig/complete/normalize.js';
import { readPbtxt } from '../../src/modelconfig/pbtxt/read-pbtxt.js';
import { compileModelPlan } from '../../src/modelconfig/plan/model-plan.js';
import { writeFiles } from '../../test/support/machine/temporary-directory.js';
import { convModel, pictureShape } from '../conv-model.js';
import { alternate, compare, type Measured, median } from '../measure.js';
import { startTriton } from '../server-process.js';
import type { BenchContext, Row } from './context.js';
import { callPlans } from './simple.js';

/** Small enough that what surrounds a run counts, large enough that it leaves the main thread. */
const MODEL = { size: 16, channels: 16, layers: 4 };
const MAX_BATCH = 16;
const CONCURRENCY = 16;

/**
 * A convolution model with dynamic batching beside the same one without, with 1 and 2 instances, at concurrency 16; and
 * what the batcher itself costs a request.
 */
export async function batchingRows(context: BenchContext): Promise<Row[]> {
  const repository = path.join(context.folder, 'batching');
  for (const instances of [1, 2]) {
    for (const batching of [false, true]) addModel(repository, instances, batching);
  }
  const server = await startTriton(repository, ['--backend-config=onnxruntime,inline-execution=off']);
  const rows: Row[] = [];
  try {
    const shape = [1, ...pictureShape(MODEL)];
    const data = new Uint8Array(new Float32Array(shape.reduce((a, b) => a * b)).fill(0.5).buffer);
    for (const instances of [1, 2]) {
      const contestants = [true, false].map((batching) => {
        const modelName = nameOf(instances, batching);
        const inputs = [{ name: 'x', datatype: 'FP32', shape, data }] as const;
        const plan = callPlans(context, { modelName, inputs }, CONCURRENCY).grpc;
        return { name: modelName, server, plan: { ...plan, port: server.grpcPort } };
      });
      const [ours, theirs] = (await alternate(contestants, context.rounds)) as [Measured[], Measured[]];
      const result = compare(ours, theirs, ({ perSecond }) => perSecond);
      rows.push({
        what: `convolutions grpc, concurrency ${CONCURRENCY}, ${instances} instance${instances > 1 ? 's' : ''}: dynamic batching`,
        ours: `${result.ours.toFixed(0)} /s`,
        reference: `without batching ${result.theirs.toFixed(0)} /s`,
        ratio: result.ratio.toFixed(2),
        target: '',
      });
    }
  } finally {
    await server.stop();
  }
  rows.push(await batcherCost(context));
  return rows;
}

function nameOf(instances: number, batching: boolean): string {
  return `conv_${instances}_${batching ? 'batched' : 'single'}`;
}

function addModel(repository: string, instances: number, batching: boolean): void {
  const { size, channels } = MODEL;
  writeFiles(path.join(repository, nameOf(instances, batching)), {
    '1/model.onnx': convModel(MODEL),
    'config.pbtxt': `backend: "onnxruntime" max_batch_size: ${MAX_BATCH}
    input { name: "x" data_type: TYPE_FP32 dims: [3, ${size}, ${size}] }
    output { name: "y" data_type: TYPE_FP32 dims: [${channels}] }
    instance_group { count: ${instances} kind: KIND_CPU }
    ${batching ? 'dynamic_batching { }' : ''}`,
  });
}

/** Time of a request through the batcher, beside one through the default scheduler, with a model that does nothing. */
async function batcherCost(context: BenchContext): Promise<Row> {
  const figures: Record<'batched' | 'single', number[]> = { batched: [], single: [] };
  for (let round = 0; round <= 2 * context.rounds; round++) {
    const batched = await costOf('dynamic_batching { }');
    const single = await costOf('');
    if (round < 2) continue;
    figures.batched.push(batched);
    figures.single.push(single);
  }
  return {
    what: `scheduling and counting a request, ${CONCURRENCY} at a time, model that does nothing: dynamic batching`,
    ours: `${median(figures.batched).toFixed(2)} us`,
    reference: `default scheduler ${median(figures.single).toFixed(2)} us`,
    ratio: median(figures.batched.map((value, i) => value / (figures.single[i] as number))).toFixed(2),
    target: '',
  };
}

/** Microseconds per request from the queue to the response. */
async function costOf(batching: string): Promise<number> {
  const { config: read } = readPbtxt(`name: "m" backend: "none" max_batch_size: ${MAX_BATCH} ${batching}
    input { name: "x" data_type: TYPE_FP32 dims: [4] } output { name: "y" data_type: TYPE_FP32 dims: [4] }`);
  const config = normalizeModelConfig(read);
  const plan = compileModelPlan(config, '1');
  const statistics = new ModelStatistics(newFailureCounts());
  const instance: BackendInstance = {
    name: 'm_0',
    concurrency: 1,
    close: async () => {},
    execute(batch): ExecutionTimes {
      const now = nowNs();
      for (const request of batch) request.respond({ outputs: [] }, true);
      return { computeStart: now, inputEnd: now, outputStart: now, computeEnd: now };
    },
  };
  const runners = [new InstanceRunner(instance, statistics, false)];
  const scheduler = createScheduler({ config, plan, runners, statistics, initialStates: new Map(), log: silentLog });
  const owner: TaskOwner = { plan, statistics, log: silentLog, clock: SYSTEM_CLOCK, released() {} };
  const request = {
    ...{ id: '', requestedOutputs: [], parameters: [], correlationId: 0n, sequenceStart: false, sequenceEnd: false },
    ...{ priority: 0n, timeoutMicroseconds: 0n },
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 4], data: new Uint8Array(16) }],
  };
  const validated = validateRequest(plan, request);
  const waves = 4000;
  let spent = 0;
  for (let wave = 0; wave < waves; wave++) {
    await new Promise<void>((resolve) => {
      let left = CONCURRENCY;
      const answered = (): void => {
        if (--left > 0) return;
        spent += nowNs() - begin;
        resolve();
      };
      const begin = nowNs();
      for (let i = 0; i < CONCURRENCY; i++) scheduler.enqueue(new Task(owner, request, validated, answered));
    });
  }
  scheduler.close();
  return spent / 1000 / (waves * CONCURRENCY);
}
