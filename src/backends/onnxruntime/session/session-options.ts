/** Session options out of a model's configuration. */
import { existsSync } from 'node:fs';
import { invalidArg, TritonError } from '../../../base/error.js';
import type { Log } from '../../../base/log.js';
import type { ModelConfig } from '../../../protocol/proto/model-config.js';
import type { OrtSessionOptions } from './ort-binding.js';

/** What a configuration asks of its sessions, before threads are given out. */
export interface SessionSettings {
  readonly options: OrtSessionOptions;
  /** Threads that the configuration asks for; 0 = the instance's share. */
  readonly intraThreads: number;
  readonly interThreads: number;
  /** Entries of the configuration of each run. */
  readonly runOptions: { readonly extra?: Record<string, unknown> };
}

const GRAPH_LEVELS: Readonly<Record<number, OrtSessionOptions['graphOptimizationLevel']>> = {
  [-1]: 'basic',
  1: 'extended',
  2: 'disabled',
};

/** Only what is fatal reaches the console from the runtime itself: errors of a run are answered to the request. */
const LOG_SEVERITY = 4;

/** Reads the settings. Throws INVALID_ARG for values that Triton refuses; unknown keys are ignored, as in Triton. */
export function readSessionSettings(config: ModelConfig): SessionSettings {
  const value = (key: string): string | undefined => config.parameters.get(key)?.string_value;
  const mode = integer(value('execution_mode')) ?? 0;
  if (mode !== 0 && mode !== 1) {
    throw invalidArg(
      `Invalid configuration value provided. Expected values for  execution_mode are 0 or 1 but got ${mode} .`,
    );
  }
  checkAccelerators(config);
  checkOpLibraries(config);
  const arena = boolean(value('enable_mem_arena'));
  const pattern = boolean(value('enable_mem_pattern'));
  const allocator = value('session.use_device_allocator_for_initializers');
  const shrinkage = value('memory.enable_memory_arena_shrinkage');
  const session = allocator === undefined ? {} : { use_device_allocator_for_initializers: allocator };
  return {
    options: {
      graphOptimizationLevel: GRAPH_LEVELS[config.optimization?.graph?.level ?? 0] ?? 'all',
      executionMode: mode === 1 ? 'parallel' : 'sequential',
      logSeverityLevel: LOG_SEVERITY,
      ...(arena === undefined ? {} : { enableCpuMemArena: arena }),
      ...(pattern === undefined ? {} : { enableMemPattern: pattern }),
      extra: { session },
    },
    intraThreads: Math.max(0, integer(value('intra_op_thread_count')) ?? 0),
    interThreads: Math.max(0, integer(value('inter_op_thread_count')) ?? 0),
    runOptions: shrinkage === undefined ? {} : { extra: { memory: { enable_memory_arena_shrinkage: shrinkage } } },
  };
}

/** The options of one session. `threads`: the instance's share of the machine; spinning only helps a lone session. */
export function sessionOptions(settings: SessionSettings, threads: number, gpu: number | undefined): OrtSessionOptions {
  const { options } = settings;
  const session = options.extra?.['session'] as Record<string, unknown>;
  return {
    ...options,
    intraOpNumThreads: settings.intraThreads || Math.max(1, threads),
    interOpNumThreads: settings.interThreads || 1,
    executionProviders: gpu === undefined ? ['cpu'] : [{ name: 'cuda', deviceId: gpu }, 'cpu'],
    extra: { session: { ...session, intra_op: { allow_spinning: '0' }, inter_op: { allow_spinning: '0' } } },
  };
}

function checkAccelerators(config: ModelConfig): void {
  const accelerators = config.optimization?.execution_accelerators?.cpu_execution_accelerator ?? [];
  for (const { name } of accelerators) throw invalidArg(`unknown Execution Accelerator '${name}' is requested`);
}

/** Libraries of custom operators cannot be loaded by the binding; one that is missing is refused with the system's text. */
function checkOpLibraries(config: ModelConfig): void {
  for (const library of config.model_operations?.op_library_filename ?? []) {
    const why =
      library.includes('/') && existsSync(library)
        ? 'libraries of custom operators are not supported'
        : `${library}: cannot open shared object file: No such file or directory`;
    throw new TritonError('INTERNAL', `onnx runtime error 1: Failed to load library ${library} with error: ${why}`);
  }
}

function integer(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const digits = /^\s*([-+]?\d+)/.exec(text)?.[1];
  if (digits === undefined) throw invalidArg(`failed to convert '${text}' to integral number`);
  return Number(digits);
}

function boolean(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  if (/^(true|on|1)$/i.test(text)) return true;
  if (/^(false|off|0)$/i.test(text)) return false;
  throw invalidArg(`failed to convert '${text}' to boolean`);
}

/** The parameters of a configuration whose effect the verbose log reports. */
const REPORTED = [
  'enable_mem_arena',
  'enable_mem_pattern',
  'session.use_device_allocator_for_initializers',
  'memory.enable_memory_arena_shrinkage',
];

/** Reports which parameters of a configuration are set, in Triton's words. */
export function logSessionSettings(config: ModelConfig, log: Log): void {
  for (const key of REPORTED) {
    const value = config.parameters.get(key)?.string_value;
    if (value !== undefined) log.verbose(1, `Configuring ${key} to ${value}`);
  }
}
