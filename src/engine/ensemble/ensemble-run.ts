import { invalidArg, TritonError } from '../../base/error.js';
import type { Pace } from '../../contract/backend.js';
import type { InferenceRequest, InferenceResponse } from '../../contract/request.js';
import { requestPrefix } from '../../protocol/infer/request-prefix.js';
import type { RequestLog } from '../request/request-log.js';
import type { Task } from '../schedule/task.js';
import type { ModelStatistics } from '../statistics/model-statistics.js';
import type { EnsembleOutput, EnsemblePlan, StepPlan } from './ensemble-plan.js';
import { EMPTY, Frame } from './frame.js';
import type { Member } from './member.js';
import { outputsOf, type RunMembers, stepInputs } from './run-tensors.js';
import { RunTimes } from './run-times.js';
import { type SequencePlace, sequenceParameters, sequencePlaceOf } from './sequence-parameters.js';
import type { StepLimiter, WaitingStep } from './step-limiter.js';

/** What all requests of one ensemble share. */
export interface EnsembleOwner {
  readonly plan: EnsemblePlan;
  readonly decoupled: boolean;
  readonly statistics: ModelStatistics;
  /** By step: how many of its requests may be on their way; undefined without a limit. */
  readonly limiters: readonly StepLimiter[] | undefined;
}

/**
 * One request on its way through the steps of an ensemble. Steps run as soon as their
 * tensors are there; a tensor goes from one step to the next as it is, only its name and shape are new.
 */
export class EnsembleRun implements Pace {
  readonly #owner: EnsembleOwner;
  readonly #task: Task;
  readonly #outputs: readonly EnsembleOutput[];
  /** Its members by step; undefined for steps that this request does not need. */
  readonly #run: RunMembers;
  readonly #times: RunTimes;
  #inFlight = 0;
  #error: TritonError | undefined;
  #responded = false;
  /** Called when no step waits for its turn any more. */
  #held: (() => void)[] | undefined;
  /** Requests of steps that are on their way. */
  readonly #steps = new Set<Task>();
  /** Steps that wait for their turn. */
  #waiting: Set<WaitingStep> | undefined;

  /** `members`: the model of each step that is to run; they stay loaded until the last response. */
  constructor(
    owner: EnsembleOwner,
    task: Task,
    outputs: readonly EnsembleOutput[],
    members: readonly (Member | undefined)[],
  ) {
    this.#owner = owner;
    this.#task = task;
    this.#outputs = outputs;
    this.#run = { plan: owner.plan, members };
    this.#times = new RunTimes(task, owner.statistics);
    task.onCancelled = () => this.#cancel();
    for (const member of members) member?.hold();
  }

  /** The client is gone or cancelled: steps that wait for their models are dropped, others may ask. */
  #cancel(): void {
    for (const step of this.#steps) step.cancel();
    this.#waitNoMore();
  }

  /** Runs the steps that need nothing but the ensemble's inputs. Responses never come from inside this call. */
  start(): void {
    const { plan } = this.#owner;
    const frame = new Frame(plan);
    const added: number[] = [];
    for (const { name, tensor } of plan.inputs) {
      frame.tensors[tensor] = this.#task.inputs.find((input) => input.name === name) ?? EMPTY;
      added.push(tensor);
    }
    this.#advance(frame, added);
    // Every step refused: the response must not come from inside `enqueue`.
    if (this.#inFlight === 0) queueMicrotask(() => this.#proceed(frame));
  }

  /** Steps that have to wait for their turn hold up the decoupled ones that feed them. */
  ready(): Promise<void> | undefined {
    if (this.#waiting === undefined || this.#waiting.size === 0) return this.#task.pace?.ready();
    return new Promise((resolve) => {
      this.#held ??= [];
      this.#held.push(resolve);
    });
  }

  /** Runs the steps for which tensors that have just come were the last ones missing. */
  #advance(frame: Frame, added: readonly number[]): void {
    const { consumers } = this.#owner.plan;
    for (const tensor of added) {
      for (const step of consumers[tensor]!) {
        if (--frame.waiting[step.index]! > 0) continue;
        const member = this.#run.members[step.index];
        if (member !== undefined && this.#error === undefined) this.#launch(step, member, frame);
      }
    }
  }

  /** Runs a step, where it is limited as soon as the limit allows it; while it waits it counts as in flight. */
  #launch(step: StepPlan, member: Member, frame: Frame): void {
    const limiter = this.#owner.limiters?.[step.index];
    if (limiter === undefined) {
      this.#send(step, member, frame);
      return;
    }
    this.#inFlight++;
    let waited = false;
    const waiting = limiter.acquire(() => {
      this.#inFlight--;
      const sent = this.#error === undefined && this.#send(step, member, frame);
      if (!sent) limiter.release();
      if (waited) {
        this.#waiting?.delete(waiting!);
        this.#proceed(frame);
        if (this.#waiting?.size === 0) for (const resolve of this.#held?.splice(0) ?? []) resolve();
      }
    });
    if (waiting === undefined) return;
    waited = true;
    this.#waiting ??= new Set();
    this.#waiting.add(waiting);
    if (this.#task.cancelled) this.#waitNoMore();
  }

  /** Ends all waiting: steps of a cancelled request are sent to be refused, those after a failure are not. */
  #waitNoMore(): void {
    for (const one of this.#waiting ?? []) one.goOn();
  }

  /** Hands a step to its model; false when the model refuses it. */
  #send(step: StepPlan, member: Member, frame: Frame): boolean {
    const task = this.#task;
    // A step that is not begun needs no model to refuse it.
    if (task.cancelled) {
      this.#fail(new TritonError('CANCELLED', ''));
      return false;
    }
    const paced = member.decoupled && (this.#owner.limiters !== undefined || task.pace !== undefined);
    try {
      const place = this.#placeFor(step, frame) ?? task;
      const request: InferenceRequest = {
        id: task.id,
        inputs: stepInputs(this.#run, step, member, frame),
        requestedOutputs: step.outputNames,
        parameters: task.parameters,
        correlationId: place.correlationId,
        sequenceStart: place.sequenceStart,
        sequenceEnd: place.sequenceEnd,
        priority: task.priority,
        timeoutMicroseconds: task.timeoutMicroseconds,
        trace: task.trace?.child(),
      };
      const handle = member.submitStep(
        request,
        (response, final) => this.#stepResponded(handle, step, member, frame, response, final),
        this.#times.counted,
        paced ? this : undefined,
      );
      this.#steps.add(handle);
      this.#inFlight++;
      this.#times.sent();
      return true;
    } catch (reason) {
      this.#fail(TritonError.from(reason));
      return false;
    }
  }

  #placeFor(step: StepPlan, frame: Frame): SequencePlace | undefined {
    if (frame.places === undefined) return undefined;
    let place: SequencePlace | undefined;
    for (const { tensor } of step.inputs) place = frame.places[tensor] ?? place;
    return place;
  }

  /** What fails here must not leave the request without a response: the member's log would be all that says so. */
  // biome-ignore lint/complexity/useMaxParams: called per response of a step, an object for it would cost.
  #stepResponded(
    handle: Task,
    step: StepPlan,
    member: Member,
    origin: Frame,
    response: InferenceResponse | undefined,
    final: boolean,
  ): void {
    if (final) this.#steps.delete(handle);
    try {
      this.#takeResponse(step, member, origin, response, final);
    } catch (reason) {
      this.#fail(TritonError.from(reason));
      this.#proceed(origin);
    }
  }

  // biome-ignore lint/complexity/useMaxParams: called per response of a step, an object for it would cost.
  #takeResponse(
    step: StepPlan,
    member: Member,
    origin: Frame,
    response: InferenceResponse | undefined,
    final: boolean,
  ): void {
    if (final) {
      this.#inFlight--;
      this.#owner.limiters?.[step.index]?.release();
    }
    let frame = origin;
    if (response?.error !== undefined) {
      this.#fail(response.error);
    } else if (response !== undefined && this.#error === undefined) {
      // A second response of a model that is not decoupled is not part of what the first began either.
      const again = step.outputs.some(({ tensor }) => origin.tensors[tensor] !== undefined);
      if (member.decoupled || again) frame = new Frame(this.#owner.plan);
      this.#take(step, frame, response);
    }
    this.#proceed(frame);
  }

  #take(step: StepPlan, frame: Frame, response: InferenceResponse): void {
    const added: number[] = [];
    for (const { name, tensor } of step.outputs) {
      frame.tensors[tensor] = response.outputs.find((output) => output.name === name) ?? EMPTY;
      added.push(tensor);
    }
    if (response.parameters.length > 0) {
      try {
        const place = sequencePlaceOf(response.parameters);
        if (place !== undefined) {
          frame.places ??= [];
          for (const tensor of added) frame.places[tensor] = place;
        }
      } catch (reason) {
        this.#fail(TritonError.from(reason));
        return;
      }
    }
    this.#advance(frame, added);
  }

  #fail(error: TritonError): void {
    if (this.#error !== undefined) return;
    this.#error = new TritonError(error.code, `in ensemble '${this.#owner.plan.name}', ${error.message}`);
    this.#waitNoMore();
  }

  /** Sends what is complete, and ends the request when no step is in flight any more. */
  #proceed(frame: Frame): void {
    const task = this.#task;
    const last = this.#inFlight === 0 && !task.finished;
    if (this.#error !== undefined) {
      if (!last) return;
      this.#times.responding();
      task.respond({ outputs: [], error: this.#error }, true);
      this.#finish();
    } else if (!frame.sent && this.#isComplete(frame)) {
      frame.sent = true;
      if (task.verbose !== undefined) this.#logMissing(frame, task.verbose);
      this.#responded = true;
      if (last) this.#times.responding();
      task.respond(
        { outputs: outputsOf(this.#run, this.#outputs, frame), parameters: sequenceParameters(this.#place(frame)) },
        last,
      );
      if (last) this.#finish();
    } else if (last) {
      if (!this.#responded && !this.#owner.decoupled) {
        this.#fail(
          invalidArg(
            `${requestPrefix(task.id)}unexpected deadlock, at least one output is not set while no more ensemble steps ` +
              'can be made',
          ),
        );
        this.#proceed(frame);
        return;
      }
      this.#times.responding();
      task.respond(undefined, true);
      this.#finish();
    }
  }

  #logMissing(frame: Frame, log: RequestLog): void {
    for (const { name, tensor } of this.#outputs) if (frame.tensors[tensor] === EMPTY) log.missing(name);
  }

  #isComplete(frame: Frame): boolean {
    return this.#outputs.every(({ tensor }) => frame.tensors[tensor] !== undefined);
  }

  /** The position in a sequence that the response reports: the last one that a step gave, else the request's. */
  #place(frame: Frame): SequencePlace {
    let place: SequencePlace | undefined;
    if (frame.places !== undefined) for (const { tensor } of this.#outputs) place = frame.places[tensor] ?? place;
    return place ?? this.#task;
  }

  #finish(): void {
    for (const member of this.#run.members) member?.release();
    // Triton counts the error's response and the request's end; a decoupled ensemble has the second only.
    const failures = this.#owner.decoupled ? 1 : 2;
    this.#times.ended(this.#error === undefined ? 0 : failures);
  }
}
