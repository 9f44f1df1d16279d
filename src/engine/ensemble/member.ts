import type { Pace } from '../../contract/backend.js';
import type { InferenceRequest, ResponseHandler } from '../../contract/request.js';
import type { ModelPlan } from '../../modelconfig/plan/model-plan.js';
import type { StepCounted, Task } from '../schedule/task.js';

/** A loaded version of a model, as the ensembles that run it use it. */
export interface Member {
  readonly plan: ModelPlan;
  readonly maxBatchSize: number;
  readonly decoupled: boolean;
  /** Labels of an output by class index; undefined when the output has no label file. */
  labels(output: string): readonly string[] | undefined;
  /**
   * Takes the request of a step. `onCounted` is called when the statistics have counted it; `pace` slows its responses
   * down. Throws the TritonError of a request that is refused at once.
   */
  submitStep(request: InferenceRequest, onResponse: ResponseHandler, onCounted: StepCounted, pace?: Pace): Task;
  /** Keeps the version loaded until `release`: a request of an ensemble will come back to it. */
  hold(): void;
  /** Ends a `hold`. */
  release(): void;
  /** Adds the load numbers of all that answers requests to the version: its own and those of its members. */
  addLoads(into: Set<number>): void;
}

/** The READY version that a step means (`version` '' = the latest); throws the errors of a request for it. */
export type FindMember = (name: string, version: string) => Member;
