/** The engine's reports of one traced request. Called for requests that are traced only. */
import type { ExecutionTimes } from '../../contract/backend.js';
import type { RequestTrace } from '../../contract/request-trace.js';
import type { Task } from './task.js';

/** The model of a traced request. */
interface TracedModel {
  readonly name: string;
  readonly version: string;
  readonly clock: { nowNs(): number };
  /** True where the scheduler reports the inputs (sequence batchers do not). */
  readonly showsInputs: boolean;
}

/** Queues a traced request: reports its start first, and that it is over when `enqueue` refuses it. */
export function enqueueTraced(
  task: Task,
  trace: RequestTrace,
  model: TracedModel,
  enqueue: (task: Task) => void,
): void {
  trace.begin(model.name, model.version, task.id, task.startNs);
  trace.event('QUEUE_START', model.clock.nowNs());
  if (model.showsInputs) trace.tensors('TENSOR_QUEUE_INPUT', task.inputs);
  try {
    enqueue(task);
  } catch (reason) {
    trace.abandon();
    throw reason;
  }
}

/** Reports when the execution of a request's batch took place. */
export function traceExecution(trace: RequestTrace, times: ExecutionTimes): void {
  trace.event('COMPUTE_START', times.computeStart);
  trace.event('COMPUTE_INPUT_END', times.inputEnd);
  trace.event('COMPUTE_OUTPUT_START', times.outputStart);
  trace.event('COMPUTE_END', times.computeEnd);
}
