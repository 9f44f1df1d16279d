/** Runs the warm-up samples of a configuration on every instance before the model is ready. */
import { randomBytes } from 'node:crypto';
import { SYSTEM_CLOCK } from '../../../base/clock.js';
import { invalidArg, TritonError } from '../../../base/error.js';
import { MAX_DATA_BYTES } from '../../../base/files/read-regular-file.js';
import type { Log } from '../../../base/log.js';
import type { InferenceRequest, RequestInput } from '../../../contract/request.js';
import type { ModelPlan } from '../../../modelconfig/plan/model-plan.js';
import { datatypeOfConfigValue, elementCount, elementSize } from '../../../protocol/datatype.js';
import { requestPrefix } from '../../../protocol/infer/request-prefix.js';
import type { ModelConfig, WarmupInput } from '../../../protocol/proto/model-config.js';
import type { MessageOf } from '../../../protocol/proto/schema.js';
import type { Tensor } from '../../../protocol/tensor.js';
import { joinPath, readTextFile } from '../../../repository/files/local.js';
import { requireInside } from '../../../repository/load/warmup.js';
import { validateRequest } from '../../request/validate-request.js';
import type { InstanceRunner } from '../../schedule/instance-runner.js';
import { Task, type TaskOwner } from '../../schedule/task.js';
import type { ModelStatistics } from '../../statistics/model-statistics.js';
import { activeRunners, killWhenCancelled, type ModelInstance } from './model-instances.js';

/** What the warm-up needs of a version that is being loaded. */
export interface WarmUpContext {
  readonly config: ModelConfig;
  readonly plan: ModelPlan;
  readonly statistics: ModelStatistics;
  readonly modelDirectory: string;
  readonly log: Log;
}

interface Sample {
  readonly name: string;
  readonly requests: number;
  readonly runs: number;
  readonly inputs: readonly RequestInput[];
  /** Tensors that are not inputs of the configuration: controls of sequences. */
  readonly overrides: readonly Tensor[];
}

/**
 * Runs all samples on the instances that get work, where there are any instances; they are killed when that is cancelled.
 * Throws INVALID_ARG with Triton's messages when a sample is wrong or fails.
 */
export async function warmUp(
  instances: readonly ModelInstance[],
  context: WarmUpContext,
  cancelled: AbortSignal | undefined,
): Promise<void> {
  if (instances.length === 0) return;
  const watched = killWhenCancelled(instances, cancelled);
  try {
    const samples = await readSamples(context);
    await Promise.all(activeRunners(instances).map((runner) => warmUpOne(context, runner, samples)));
  } finally {
    watched();
  }
}

async function readSamples(context: WarmUpContext): Promise<readonly Sample[]> {
  const samples: Sample[] = [];
  for (const setting of context.config.model_warmup) {
    if (setting.batch_size === 0) {
      context.log.verbose(1, `skipping batch 0 warmup sample '${setting.name}'`);
      continue;
    }
    const inputs: RequestInput[] = [];
    const overrides: Tensor[] = [];
    for (const [name, input] of setting.inputs) {
      const tensor = await makeTensor(context, name, input);
      if (context.plan.inputsByName.has(name)) inputs.push(tensor);
      else overrides.push(tensor as Tensor);
    }
    samples.push({
      name: setting.name,
      requests: setting.batch_size,
      runs: Math.max(1, setting.count),
      inputs,
      overrides,
    });
  }
  return samples;
}

async function warmUpOne(context: WarmUpContext, runner: InstanceRunner, samples: readonly Sample[]): Promise<void> {
  for (const sample of samples) {
    for (let run = 1; run <= sample.runs; run++) {
      if (context.log.isVerbose?.(1)) context.log.verbose(1, runText(context.config.name, runner, sample, run));
      await runOnce(context, runner, sample);
    }
  }
  runner.serve();
}

function runText(model: string, runner: InstanceRunner, sample: Sample, run: number): string {
  const { name } = runner.instance;
  return `model '${model}' instance ${name} is running warmup sample '${sample.name}' for iteration ${run}`;
}

async function runOnce(context: WarmUpContext, runner: InstanceRunner, sample: Sample): Promise<void> {
  const errors: string[] = [];
  const owner: TaskOwner = { ...context, clock: SYSTEM_CLOCK, released: () => {} };
  const request: InferenceRequest = {
    id: '',
    inputs: sample.inputs,
    requestedOutputs: [],
    parameters: [],
    correlationId: 0n,
    sequenceStart: false,
    sequenceEnd: false,
    priority: 0n,
    timeoutMicroseconds: 0n,
  };
  const tasks = Array.from({ length: sample.requests }, () => {
    const validated = validateRequest(context.plan, request);
    const inputs = [...validated.inputs, ...sample.overrides];
    context.statistics.series.pending++;
    return new Task(owner, request, { ...validated, inputs }, (response) => {
      if (response?.error !== undefined) errors.push(response.error.message);
    });
  });
  await new Promise<void>((resolve) => runner.run(tasks, resolve));
  if (errors.length > 0) {
    const list = errors.map((error) => `${error}; `).join('');
    throw invalidArg(`failed to run warmup sample '${sample.name}': ${list}`);
  }
}

async function makeTensor(
  { config, modelDirectory }: WarmUpContext,
  name: string,
  input: MessageOf<typeof WarmupInput>,
): Promise<RequestInput> {
  const datatype = datatypeOfConfigValue(input.data_type);
  const dims = input.dims.map(Number);
  if (dims.some((dim) => dim < 0)) {
    throw invalidArg(`warmup setting expects all variable-size dimensions are specified for input '${name}'`);
  }
  const shape = config.max_batch_size > 0 ? [1, ...dims] : dims;
  const isBytes = datatype === 'BYTES';
  const byteSize = elementCount(dims) * (isBytes ? 4 : datatype === undefined ? 0 : elementSize(datatype));
  if (!(byteSize <= MAX_DATA_BYTES)) {
    throw invalidArg(`warmup sample of input '${name}' has ${byteSize} bytes; at most ${MAX_DATA_BYTES} are supported`);
  }
  let data: Uint8Array;
  if (input.zero_data !== undefined || (input.random_data !== undefined && isBytes)) data = new Uint8Array(byteSize);
  else if (input.random_data !== undefined) data = randomBytes(byteSize);
  else if (input.input_data_file !== undefined) {
    const file = joinPath(modelDirectory, 'warmup', input.input_data_file);
    requireInside(name, input.input_data_file);
    const content = await readTextFile(file, MAX_DATA_BYTES, isBytes ? undefined : byteSize);
    if (!isBytes && content.byteLength < byteSize) {
      throw new TritonError(
        'INVALID_ARG',
        `${requestPrefix('')}warmup setting expects ${byteSize} bytes, but the data provided from ` +
          `${input.input_data_file}only has ${content.byteLength} bytes`,
      );
    }
    data = isBytes ? content : content.subarray(0, byteSize);
  } else {
    throw invalidArg(`${requestPrefix('')}warmup setting expects input '${name}' to have input_data_type set`);
  }
  return { name, datatype: datatype ?? '<invalid>', shape, data };
}
