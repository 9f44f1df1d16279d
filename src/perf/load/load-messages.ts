/** What the main thread and the load threads say to each other. Everything can be cloned. */
import type { ClientOptions, InferRequestedOutput } from '../../client/index.js';
import type { Datatype } from '../../protocol/datatype.js';
import type { ParameterValue } from '../../protocol/tensor.js';
import type { InputData } from '../input/input-data.js';
import type { ClientCounters } from '../measure/window.js';

/** All that a load thread has to know before it starts. */
export interface LoadSetup {
  readonly client: ClientOptions & { readonly protocol: 'http' | 'grpc' };
  readonly headers: Readonly<Record<string, string>>;
  readonly modelName: string;
  readonly modelVersion: string;
  readonly inputs: readonly { readonly name: string; readonly datatype: Datatype; readonly isShapeTensor: boolean }[];
  readonly outputs: readonly InferRequestedOutput[];
  readonly parameters: Readonly<Record<string, ParameterValue>>;
  /** Whether tensors have a batch dimension in front. */
  readonly batching: boolean;
  readonly batchSize: number;
  readonly data: InputData;
  /** Inputs lie in registered shared memory: requests name the regions instead of carrying data. */
  readonly sharedMemory: boolean;
  readonly async: boolean;
  readonly streaming: boolean;
  /** Undefined for models without sequences. */
  readonly sequences: SequenceSettings | undefined;
  /** Keep every request with its tensors for the profile export. */
  readonly keepDetails: boolean;
}

/** How sequences are made. */
export interface SequenceSettings {
  /** Base length and variation in percent; undefined = as many requests as the stream has steps. */
  readonly length: { readonly base: number; readonly variation: number } | undefined;
  readonly startId: number;
  readonly idRange: number;
  /** Never more than one request of a sequence outstanding (rate modes; concurrency always does so). */
  readonly serial: boolean;
}

/** The load of one worker. */
export interface WorkerAssignment {
  readonly index: number;
  /** Requests (or sequences) kept outstanding. */
  readonly slots: number;
  /** Most requests that it sends; undefined = no limit. */
  readonly limit?: number;
  /** When to send, instead of as soon as a request completes. */
  readonly schedule?: SendSchedule;
}

/** Absolute times at which a worker sends. */
export interface SendSchedule {
  /** Common start of all workers, nanoseconds of the monotonic clock. */
  readonly startNs: number;
  /** Ascending offsets of one round. */
  readonly offsetsNs: Float64Array;
  /** Length of a round: added to the offsets for each further one. */
  readonly roundNs: number;
  /** Steps of the input data by send, for fixed schedules; else the worker goes round. */
  readonly steps?: readonly number[];
}

/** To a load thread. */
export type LoadCommand =
  /** Replaces the load; acknowledged once the requests of the old load have their responses. */
  | { readonly type: 'assign'; readonly workers: readonly WorkerAssignment[]; readonly activeWorkers: number }
  /** Asks for everything since the last time. */
  | { readonly type: 'collect' }
  /** Ends all load and closes the connections; acknowledged when nothing is outstanding. */
  | { readonly type: 'stop' };

/** From a load thread. */
export type LoadResponse =
  | { readonly type: 'ready' }
  | { readonly type: 'assigned' }
  | { readonly type: 'stopped' }
  | ({ readonly type: 'collected' } & CollectedLoad)
  | { readonly type: 'failed'; readonly failure: WorkerFailure };

/** What happened in a load thread since the last time. */
export interface CollectedLoad {
  readonly records: Float64Array;
  readonly counters: ClientCounters;
  /** Time without an outstanding request, summed over the workers, nanoseconds. */
  readonly busyNs: number;
  /** Workers that had load. */
  readonly workers: number;
  /** Share of the time in which the event loop had work. */
  readonly utilization: number;
  readonly details: readonly RequestDetail[];
}

/** A worker that gave up. */
export interface WorkerFailure {
  readonly worker: number;
  /** `submit`: the call itself failed; `result`: an asynchronous response was an error. */
  readonly kind: 'submit' | 'result';
  readonly message: string;
}

/** A request with everything that the profile export shows. */
export interface RequestDetail {
  readonly startNs: number;
  /** 0 = none. */
  readonly sequenceId: number;
  readonly stream: number;
  readonly step: number;
  readonly responseNs: readonly number[];
  readonly outputs: readonly (readonly { name: string; datatype: Datatype; data: Uint8Array }[])[];
}
