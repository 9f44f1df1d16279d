import { TritonError } from '../../../base/error.js';
import type { Log } from '../../../base/log.js';
import type { BackendInstance, BackendModel, InstanceSpec } from '../../../contract/backend.js';
import { instanceKind, instanceName } from '../../../modelconfig/complete/normalize.js';
import type { ModelConfig } from '../../../protocol/proto/model-config.js';
import { InstanceRunner } from '../../schedule/instance-runner.js';
import type { LimitedInstance, LimitedSpec, RateLimiter } from '../../schedule/rate-limiter.js';
import type { ModelStatistics } from '../../statistics/model-statistics.js';

/** An instance that a configuration asks for. */
export interface PlannedInstance {
  readonly spec: InstanceSpec;
  /** Made like the others, but the scheduler gives it nothing. */
  readonly passive: boolean;
  /** Equal for instances that can stand for each other: everything of the group but its name and count, and the device. */
  readonly signature: string;
  readonly limits: LimitedSpec;
}

/** An instance of a loaded version. */
export interface ModelInstance {
  readonly signature: string;
  readonly passive: boolean;
  readonly runner: InstanceRunner;
}

/** What making instances needs. */
export interface InstanceContext {
  readonly backendModel: BackendModel;
  readonly statistics: ModelStatistics;
  readonly decoupled: boolean;
  /** Absent when the rate limiter is off. */
  readonly limiter: RateLimiter | undefined;
  readonly log: Log;
  /** Aborted when the instances are not wanted any more. */
  readonly cancelled?: AbortSignal | undefined;
}

/** The instances of a completed configuration, in its order; each may use `threads` threads. */
export function planInstances(config: ModelConfig, threads: number): PlannedInstance[] {
  return config.instance_group.flatMap((group) => {
    const kind = instanceKind(group);
    const limiter = group.rate_limiter;
    return (kind === 'KIND_GPU' ? group.gpus : [0]).flatMap((deviceId) => {
      const signature = JSON.stringify([{ ...group, name: '', count: 0 }, deviceId], plainBigint);
      const limits = { deviceId, resources: limiter?.resources ?? [], priority: limiter?.priority ?? 0 };
      return Array.from({ length: group.count }, (_, i) => ({
        spec: { name: instanceName(group, i), kind, deviceId, threads },
        passive: group.passive,
        signature,
        limits,
      }));
    });
  });
}

/** Makes all instances at the same time; when one fails, the others are ended and its error is thrown. */
export async function makeInstances(
  context: InstanceContext,
  planned: readonly PlannedInstance[],
): Promise<ModelInstance[]> {
  const { log } = context;
  const made = await Promise.allSettled(planned.map((instance) => makeInstance(context, instance)));
  const instances = made.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  let first: TritonError | undefined;
  for (const result of made) {
    if (result.status === 'fulfilled') continue;
    const error = TritonError.from(result.reason);
    if (context.cancelled?.aborted !== true) log.error(`ERROR: Failed to create instance: ${error.message}`);
    first ??= error;
  }
  if (first === undefined) return instances;
  await discardInstances(instances, log);
  throw first;
}

/** Ends instances that execute nothing any more: all of them, then throws the first error of any. */
export async function closeInstances(instances: readonly ModelInstance[]): Promise<void> {
  const ended = await Promise.allSettled(instances.map(({ runner }) => runner.close()));
  for (const result of ended) if (result.status === 'rejected') throw result.reason;
}

/** Ends instances of a load that failed. What goes wrong is logged only: why the load failed is what is to be reported. */
export async function discardInstances(instances: readonly ModelInstance[], log: Log): Promise<void> {
  try {
    await closeInstances(instances);
  } catch (reason) {
    log.error(`failed to end an instance: ${TritonError.from(reason).message}`);
  }
}

/** Kills instances that are being warmed up when that is cancelled; the returned function ends that. */
export function killWhenCancelled(instances: readonly ModelInstance[], cancelled: AbortSignal | undefined): () => void {
  const kill = (): void => {
    for (const { runner } of instances) void runner.instance.kill?.().catch(() => {}); // its end is seen by its requests
  };
  if (cancelled?.aborted) kill();
  else cancelled?.addEventListener('abort', kill, { once: true });
  return () => cancelled?.removeEventListener('abort', kill);
}

/** Those that the scheduler gives work to. */
export function activeRunners(instances: readonly ModelInstance[]): InstanceRunner[] {
  return instances.flatMap(({ passive, runner }) => (passive ? [] : [runner]));
}

async function makeInstance(context: InstanceContext, planned: PlannedInstance): Promise<ModelInstance> {
  const { backendModel, statistics, decoupled, limiter, log, cancelled } = context;
  const { spec, passive, signature } = planned;
  const device = spec.kind.slice('KIND_'.length);
  log.info(`TRITONBACKEND_ModelInstanceInitialize: ${spec.name} (${device} device ${spec.deviceId})`);
  const instance = await backendModel.createInstance(spec, cancelled);
  const limited = passive ? undefined : await register(limiter, planned, instance);
  const runner = new InstanceRunner(instance, statistics, decoupled, { limited });
  return { signature, passive, runner };
}

/** Takes the instance into the limiter; where that is refused, the instance ends. */
async function register(
  limiter: RateLimiter | undefined,
  { limits }: PlannedInstance,
  instance: BackendInstance,
): Promise<LimitedInstance | undefined> {
  try {
    return limiter?.register(limits);
  } catch (reason) {
    await instance.close();
    throw reason;
  }
}

function plainBigint(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
