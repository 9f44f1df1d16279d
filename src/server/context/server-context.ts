import type { InferenceEngine } from '../../contract/engine.js';
import type { SharedMemoryRegions } from '../../protocol/infer/shared-memory.js';
import type { ByteBudget } from '../../transport/byte-budget.js';
import type { ServerLog } from '../log/server-log.js';
import type { ServerOptions } from '../options/server-options.js';
import type { ServerSharedMemory } from '../shared-memory/regions.js';
import type { Tracer } from '../trace/tracer.js';
import type { Admission } from './admission.js';
import type { LogSettingsStore } from './log-settings.js';
import type { ServerMetadata } from './server-metadata.js';

/** What every front end works with. */
export interface ServerContext {
  readonly engine: InferenceEngine;
  readonly options: ServerOptions;
  readonly metadata: ServerMetadata;
  readonly log: ServerLog;
  readonly logSettings: LogSettingsStore;
  readonly tracer: Tracer;
  readonly sharedMemory: ServerSharedMemory;
  readonly admission: Admission;
  /** What all clients together may make the server hold. */
  readonly budgets: ServerBudgets;
  /** How inference requests are decoded. */
  readonly decoding: { readonly http: DecodeOptions; readonly grpc: DecodeOptions };
}

/** Memory that clients can make the server hold. */
export interface ServerBudgets {
  /** Bytes of requests: being received, being inflated, waiting, executing (`--request-memory-limit`). */
  readonly requests: ByteBudget;
  /** Bytes of responses that wait for clients to read them (`--response-memory-limit`). */
  readonly responses: ByteBudget;
}

/** What decoding an infer request needs to know besides the request. */
export interface DecodeOptions {
  /** Upper bound in bytes of the JSON part, of each JSON tensor and of a raw body. */
  readonly maxInputSize: number;
  /** Absent: no region can be registered. */
  readonly sharedMemory?: SharedMemoryRegions;
}
