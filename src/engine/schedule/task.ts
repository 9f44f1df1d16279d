import type { Clock } from '../../base/clock.js';
import { invalidArg, TritonError } from '../../base/error.js';
import type { Log } from '../../base/log.js';
import type { ExecutionRequest, ExecutionResponse, Pace, SequenceState } from '../../contract/backend.js';
import type { InferenceRequest, InferenceResponse, PendingRequest, ResponseHandler } from '../../contract/request.js';
import type { RequestTrace } from '../../contract/request-trace.js';
import type { FailureReason } from '../../contract/statistics.js';
import type { ModelPlan } from '../../modelconfig/plan/model-plan.js';
import type { Parameters, Tensor } from '../../protocol/tensor.js';
import type { RequestLog } from '../request/request-log.js';
import { mapReshape } from '../request/reshape.js';
import type { ValidatedRequest } from '../request/validate-request.js';
import type { ModelStatistics } from '../statistics/model-statistics.js';
import type { OrderSlot } from './ordered-responses.js';
import type { TaskLine } from './task-line.js';

/** What all requests of one loaded version share. */
export interface TaskOwner {
  readonly plan: ModelPlan;
  readonly statistics: ModelStatistics;
  readonly log: Log;
  readonly clock: Clock;
  /** Called once per task that ended: it had its final response, or was refused by its scheduler. */
  released(task: Task): void;
}

/** Gets how long the parts of a step's execution took, in ns. */
export type StepCounted = (inputNs: number, inferNs: number, outputNs: number) => void;

const NO_PARAMETERS: Parameters = [];
const NO_OUTPUTS: readonly Tensor[] = [];
const NOT_RESCHEDULABLE =
  'Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not configured to handle such ' +
  'a flag.';

/**
 * One accepted request on its way: what the schedulers queue, what backends execute, and the client's handle on it, in
 * one object (a request costs one allocation of this size and no copies between the layers).
 */
export class Task implements ExecutionRequest, PendingRequest {
  readonly id: string;
  readonly batchSize: number;
  /**
   * The request has a batch of 0 rows and so reaches the model without a batch dimension: it shares a batch with no
   * other, whose rows it would shift.
   */
  readonly alone: boolean;
  /** The inputs that the client sent. */
  readonly given: readonly Tensor[];
  /** What the backend is fed: schedulers that add control tensors and states replace the list before an execution. */
  inputs: readonly Tensor[];
  readonly requestedOutputs: readonly string[];
  readonly parameters: Parameters;
  /** Given by the scheduler of iterative sequences where the client gave none. */
  correlationId: bigint | string;
  /** Cleared when the request is executed again. */
  sequenceStart: boolean;
  sequenceEnd: boolean;
  state: SequenceState | undefined;
  /** Clamped to the model's levels when the request is queued. */
  priority: bigint;
  readonly timeoutMicroseconds: bigint;
  cancelled = false;
  /** Where it waits for its batch; undefined when it does not. */
  line: TaskLine | undefined;
  onCancelled: (() => void) | undefined;

  /** When the engine accepted the request, or took it back, in ns; also the start of its time in the queue. */
  startNs: number;
  /** When its batcher got it: the start, unless it waited for its turn in a sequence before. The batching delay counts from here. */
  batcherNs: number;
  /** Point in time at which the queue's policy ends the wait, in ns; 0 = never. */
  deadlineNs = 0;
  /** Bytes that were taken for it from the budget of all requests. */
  heldBytes = 0;
  /** The final response went out. */
  finished = false;
  /** A response was an error that counts as a failure of the model. */
  failed = false;
  /** Cancelled before it was executed. */
  dropped = false;
  /** Keeps responses in the order of dispatch, where the model wants it. */
  order: OrderSlot | undefined;
  /** Sees every response before it goes out (the response cache keeps it). */
  onResponse: ((response: ExecutionResponse | undefined, final: boolean) => void) | undefined;
  /** Called after the final response (a sequence's next request may go). */
  onFinished: (() => void) | undefined;
  /** The backend put the request back; it goes into its sequence's queue again when the execution has ended. */
  rescheduled = false;
  /** Takes it back; set by schedulers of models that may be executed repeatedly for one request. */
  onRescheduled: (() => void) | undefined;
  /** How fast the responses are taken, where that is limited. */
  readonly pace: Pace | undefined;
  /** True for a step of an ensemble that was accepted: it is executed even while the server stops. */
  readonly isStep: boolean;
  /** Set when the request is traced. */
  readonly trace: RequestTrace | undefined;
  /** Set while verbose records are shown. */
  verbose: RequestLog | undefined;

  readonly #owner: TaskOwner;
  readonly #handler: ResponseHandler;
  #onCounted: StepCounted | undefined;
  #executing = false;
  /** The first response was counted, where that is wanted. */
  #responded = false;

  /** `onCounted` makes it a step of an ensemble. */
  // biome-ignore lint/complexity/useMaxParams: called per request, an object for it would cost.
  constructor(
    owner: TaskOwner,
    request: InferenceRequest,
    validated: ValidatedRequest,
    handler: ResponseHandler,
    onCounted?: StepCounted,
    pace?: Pace,
  ) {
    this.#owner = owner;
    this.startNs = owner.clock.nowNs();
    this.batcherNs = this.startNs;
    this.#handler = handler;
    this.id = request.id;
    this.batchSize = Math.max(validated.batchSize, 1);
    this.alone = validated.batchSize === 0 && owner.plan.maxBatchSize > 0;
    this.given = validated.inputs;
    this.inputs = validated.inputs;
    this.requestedOutputs = validated.requestedOutputs;
    this.parameters = request.parameters;
    this.correlationId = request.correlationId;
    this.sequenceStart = request.sequenceStart;
    this.sequenceEnd = request.sequenceEnd;
    this.priority = request.priority;
    this.timeoutMicroseconds = request.timeoutMicroseconds;
    this.trace = request.trace;
    this.isStep = onCounted !== undefined;
    this.#onCounted = onCounted;
    this.pace = pace;
  }

  cancel(): void {
    if (this.cancelled) return;
    this.cancelled = true;
    this.line?.cancelled(this);
    try {
      this.onCancelled?.();
    } catch (reason) {
      // Whoever cancels may have other requests to cancel, which this one's backend must not keep it from.
      this.#owner.log.error(`failed to cancel a request of model '${this.#owner.plan.name}': ${String(reason)}`);
    }
  }

  /** Marks the start of the execution: the request no longer counts as pending. */
  markExecuting(): void {
    if (this.#executing) return;
    this.#leaveQueue();
    this.verbose?.enter('EXECUTING');
  }

  respond(response: ExecutionResponse | undefined, final: boolean): void {
    if (this.finished) {
      this.#owner.log.error(
        `model '${this.#owner.plan.name}' sent another response to a request after its final response`,
      );
      return;
    }
    if (response?.error !== undefined && !response.countsAsSuccess) this.failed = true;
    if (final) this.finished = true;
    const { firstResponse } = this.#owner.statistics.series;
    if (firstResponse !== undefined && response !== undefined && !this.#responded) {
      this.#responded = true;
      firstResponse.observe(Math.floor((this.#owner.clock.nowNs() - this.startNs) / 1e6));
    }
    this.onResponse?.(response, final);
    const answer = response === undefined ? undefined : this.#toResponse(response);
    if (answer !== undefined) {
      this.trace?.tensors('TENSOR_BACKEND_OUTPUT', answer.outputs);
      this.verbose?.outputs(answer.outputs);
    }
    if (this.order === undefined) this.#deliver(answer, final);
    else this.order.deliver(() => this.#deliver(answer, final), final);
  }

  /** To be called when the statistics have counted the request; times in ns, 0 where nothing was executed. */
  counted(inputNs: number, inferNs: number, outputNs: number): void {
    // A request that goes back into its queue is not over.
    if (this.trace !== undefined && !this.rescheduled) this.#end(this.trace);
    if (this.verbose !== undefined && !this.rescheduled) this.verbose.enter('RELEASED');
    const onCounted = this.#onCounted;
    if (onCounted === undefined) return;
    this.#onCounted = undefined;
    onCounted(inputNs, inferNs, outputNs);
  }

  reschedule(): void {
    const { log, plan } = this.#owner;
    if (this.finished) {
      log.error(`model '${plan.name}' put a request back into its queue after its final response`);
    } else if (this.onRescheduled === undefined) {
      log.error(`Failed to release request: ${NOT_RESCHEDULABLE}`);
      this.respond({ outputs: NO_OUTPUTS, error: invalidArg(NOT_RESCHEDULABLE), countsAsSuccess: true }, true);
    } else {
      this.rescheduled = true;
    }
  }

  /** Hands a request that was put back to its scheduler, after the execution was counted. */
  requeue(): void {
    this.rescheduled = false;
    this.startNs = this.#owner.clock.nowNs();
    this.onRescheduled?.();
  }

  /** Responds with an error, finally, and counts the failure, unless the request had its final response already. */
  reject(error: TritonError, reason: FailureReason): void {
    if (this.finished) return;
    if (!this.#executing) this.#leaveQueue();
    this.respond({ outputs: NO_OUTPUTS, error }, true);
    this.#owner.statistics.recordFailure(reason, this.#owner.clock.nowNs() - this.startNs);
    this.counted(0, 0, 0);
  }

  /** Drops a cancelled request out of its queue: CANCELLED with an empty message. */
  rejectCancelled(): void {
    this.dropped = true;
    this.reject(new TritonError('CANCELLED', ''), 'CANCELED');
  }

  /** A response that reports the request's times goes out here: what it throws must not stop the rest of the batch. */
  #end(trace: RequestTrace): void {
    try {
      trace.end(this.#owner.clock.nowNs());
    } catch (reason) {
      this.#notDelivered(reason);
    }
  }

  #notDelivered(reason: unknown): void {
    this.#owner.log.error(
      `failed to deliver a response to a request of model '${this.#owner.plan.name}': ${String(reason)}`,
    );
  }

  #leaveQueue(): void {
    this.#executing = true;
    this.#owner.statistics.series.pending--;
  }

  #toResponse(response: ExecutionResponse): InferenceResponse {
    const { plan } = this.#owner;
    const { error } = response;
    const modelName = plan.name;
    const modelVersion = plan.version;
    const parameters = response.parameters ?? NO_PARAMETERS;
    if (error !== undefined) return { modelName, modelVersion, id: this.id, parameters, outputs: NO_OUTPUTS, error };
    const outputs = plan.reshapesOutputs
      ? response.outputs.map((output) => reshapeBack(plan, output))
      : response.outputs;
    return { modelName, modelVersion, id: this.id, parameters, outputs };
  }

  #deliver(answer: InferenceResponse | undefined, final: boolean): void {
    try {
      this.#handler(answer, final);
    } catch (reason) {
      this.#notDelivered(reason);
    }
    if (!final) return;
    this.onFinished?.();
    this.#owner.released(this);
  }
}

/** Maps an output's shape from the backend's side of its `reshape` to the configuration's `dims`. */
function reshapeBack(plan: ModelPlan, output: Tensor): Tensor {
  const outputPlan = plan.outputsByName.get(output.name);
  if (outputPlan?.reshape === undefined) return output;
  const batch = plan.maxBatchSize > 0 && !outputPlan.shapeTensor;
  return { ...output, shape: mapReshape(output.shape, outputPlan.reshape, outputPlan.dims, batch) };
}
