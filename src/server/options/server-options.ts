/**
 * Everything that `triton serve` has options for. A group of options is one file: its type, its defaults and its entries of
 * the table stand together there.
 */
import type { OptionsDraft } from '../../base/options/option.js';
import { standardOptions } from '../../base/options/read-options.js';
import type { LogSettings } from '../log/server-log.js';
import { BACKENDS_DEFAULTS, BACKENDS_OPTIONS, type BackendsOptions } from './backends-options.js';
import { DEVICES_DEFAULTS, DEVICES_OPTIONS, type DevicesOptions, RATE_LIMIT_OPTIONS } from './devices-options.js';
import {
  GENERAL_DEFAULTS,
  GENERAL_OPTIONS,
  type GeneralOptions,
  LIMIT_DEFAULTS,
  type LimitOptions,
  LOG_DEFAULTS,
  LOG_OPTIONS,
  SHARED_MEMORY_OPTIONS,
} from './general-options.js';
import { GRPC_DEFAULTS, GRPC_OPTIONS, type GrpcOptions } from './grpc-options.js';
import { HTTP_DEFAULTS, HTTP_OPTIONS, type HttpOptions } from './http-options.js';
import { METRICS_DEFAULTS, METRICS_OPTIONS, type MetricsOptions } from './metrics-options.js';
import { MODELS_DEFAULTS, MODELS_OPTIONS, type ModelsOptions } from './models-options.js';
import { OTHER_ENDPOINTS } from './other-endpoints.js';
import type { ServerOption } from './server-option.js';
import { DEPRECATED_TRACE_OPTIONS, TRACE_DEFAULTS, TRACE_OPTIONS, type TraceOptions } from './trace-options.js';

/** The options of a server, complete and frozen. */
export interface ServerOptions {
  readonly general: GeneralOptions;
  readonly limits: LimitOptions;
  readonly log: Readonly<LogSettings>;
  readonly models: ModelsOptions;
  readonly http: HttpOptions;
  readonly grpc: GrpcOptions;
  readonly metrics: MetricsOptions;
  readonly trace: TraceOptions;
  readonly backends: BackendsOptions;
  readonly devices: DevicesOptions;
  /** One line per option that was given and changes nothing here. */
  readonly notes: readonly string[];
}

/** The values that hold when an option is not given, in an object that may be changed. */
export function defaultServerOptions(): OptionsDraft<Omit<ServerOptions, 'notes'>> {
  return {
    general: { ...GENERAL_DEFAULTS },
    limits: { ...LIMIT_DEFAULTS },
    log: { ...LOG_DEFAULTS },
    models: { ...MODELS_DEFAULTS },
    http: { ...HTTP_DEFAULTS },
    grpc: { ...GRPC_DEFAULTS },
    metrics: { ...METRICS_DEFAULTS },
    trace: { ...TRACE_DEFAULTS },
    backends: { ...BACKENDS_DEFAULTS },
    devices: { ...DEVICES_DEFAULTS },
  };
}

/** Every option of `triton serve`, in the order of the help text. */
export const OPTION_TABLE: readonly ServerOption[] = [
  ...standardOptions('Global'),
  ...GENERAL_OPTIONS,
  ...LOG_OPTIONS,
  ...MODELS_OPTIONS,
  ...HTTP_OPTIONS,
  ...GRPC_OPTIONS,
  ...OTHER_ENDPOINTS,
  ...METRICS_OPTIONS,
  ...TRACE_OPTIONS,
  ...BACKENDS_OPTIONS,
  ...RATE_LIMIT_OPTIONS,
  ...DEVICES_OPTIONS,
  ...SHARED_MEMORY_OPTIONS,
  ...DEPRECATED_TRACE_OPTIONS,
];
