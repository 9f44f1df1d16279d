import { text, timeoutSeconds } from '../../base/options/parse-value.js';
import { BadOption, parseBool, parseInt32 } from './parse-value.js';
import { checked, compatOneOf, deprecated, flag, option, type ParseState, type ServerOption } from './server-option.js';

/** How the set of served models changes while the server runs. */
export type ModelControlMode = 'none' | 'explicit' | 'poll';

/** Options of repositories and of loading models. */
export interface ModelsOptions {
  readonly repositories: readonly string[];
  readonly exitOnError: boolean;
  /** False with --disable-auto-complete-config. */
  readonly autoComplete: boolean;
  readonly strictReadiness: boolean;
  readonly controlMode: ModelControlMode;
  /** 0 unless the mode is poll. */
  readonly pollSeconds: number;
  /** Models that mode explicit loads at start-up. */
  readonly loadModels: readonly string[];
  readonly configName: string;
  readonly namespacing: boolean;
  readonly loadThreadCount: number;
  readonly loadRetryCount: number;
  /** Seconds that completing a configuration may take; 0 = any time. */
  readonly completionSeconds: number;
  /** An instance that should end is killed after this many seconds without a sign of life; 0 = never. */
  readonly unloadSeconds: number;
}

/** The values that hold when an option is not given. */
export const MODELS_DEFAULTS: ModelsOptions = {
  repositories: [],
  exitOnError: true,
  autoComplete: true,
  strictReadiness: true,
  controlMode: 'none',
  pollSeconds: 15,
  loadModels: [],
  configName: '',
  namespacing: false,
  loadThreadCount: 4,
  loadRetryCount: 0,
  completionSeconds: 120,
  unloadSeconds: 60,
};

const group = 'Model Repository';

/** Adds a repository; `--model-repository`, `--model-store` and arguments that are not options all do. */
export function addRepository({ options: { models } }: ParseState, repository: string): void {
  models.repositories = [...models.repositories, repository];
}

/** The options of repositories and of loading models. */
export const MODELS_OPTIONS: readonly ServerOption[] = [
  option({
    name: 'model-store',
    group,
    argument: 'string',
    repeatable: true,
    parse: text,
    set: addRepository,
    help: 'The same as --model-repository.',
  }),
  option({
    name: 'model-repository',
    group,
    argument: 'string',
    repeatable: true,
    parse: text,
    set: addRepository,
    help:
      'A directory of models, each a directory of its own; also s3://, gs:// and as://. May be given several times, and ' +
      'without its name: triton serve ./models.',
  }),
  option({
    name: 'exit-on-error',
    group,
    argument: 'boolean',
    parse: parseBool,
    into: ['models', 'exitOnError'],
    help: 'Exit when a model cannot be loaded at start-up.',
  }),
  flag({
    name: 'disable-auto-complete-config',
    group,
    help: 'Take configurations as they stand, without completing them from the model files.',
    set({ options }) {
      options.models.autoComplete = false;
    },
  }),
  option({
    name: 'strict-readiness',
    group,
    argument: 'boolean',
    parse: parseBool,
    into: ['models', 'strictReadiness'],
    help: 'Report ready only when every model is ready.',
  }),
  option({
    name: 'model-control-mode',
    group,
    argument: 'string',
    parse: compatOneOf<ModelControlMode>(
      ['none', 'poll', 'explicit'],
      'invalid argument for --model-control-mode',
      true,
    ),
    into: ['models', 'controlMode'],
    help: 'none: load everything once. poll: follow changes of the repositories. explicit: load and unload on request.',
  }),
  option({
    name: 'repository-poll-secs',
    group,
    argument: 'integer',
    parse: parseInt32,
    into: ['models', 'pollSeconds'],
    help: 'Seconds between looks at the repositories in mode poll.',
  }),
  option({
    name: 'load-model',
    group,
    argument: 'string',
    repeatable: true,
    parse: text,
    set({ options: { models } }, name) {
      models.loadModels = [...models.loadModels, name];
    },
    help: 'Load this model at start-up in mode explicit; * loads all. May be given several times.',
  }),
  option({
    name: 'model-config-name',
    group,
    argument: 'string',
    parse(value: string) {
      if (value === '') throw new BadOption('Error: empty argument for --model-config-name');
      return value;
    },
    into: ['models', 'configName'],
    help: 'Prefer configs/NAME.pbtxt of a model over its config.pbtxt.',
  }),
  option({
    name: 'model-load-thread-count',
    group,
    argument: 'integer',
    parse: (value: string) => Math.max(parseInt32(value), 1),
    into: ['models', 'loadThreadCount'],
    help: 'Models that are loaded at the same time.',
  }),
  option({
    name: 'model-load-retry-count',
    group,
    argument: 'integer',
    parse: (value: string) => Math.max(parseInt32(value), 0),
    into: ['models', 'loadRetryCount'],
    help: 'Further attempts when a model fails to load.',
  }),
  option({
    name: 'model-completion-timeout',
    group,
    argument: 'integer',
    parse: timeoutSeconds,
    into: ['models', 'completionSeconds'],
    help: 'Seconds that completing the configuration of a model from its files may take; then its load fails. 0 = no limit.',
  }),
  option({
    name: 'model-unload-timeout',
    group,
    argument: 'integer',
    parse: timeoutSeconds,
    into: ['models', 'unloadSeconds'],
    help: 'Seconds without a sign of life after which the process of an instance that should end is killed. 0 = never.',
  }),
  option({
    name: 'model-namespacing',
    group,
    argument: 'boolean',
    parse: parseBool,
    into: ['models', 'namespacing'],
    help: 'Let several repositories have models of the same name; a request for such a name is then ambiguous and refused.',
  }),
  checked({
    name: 'enable-peer-access',
    group,
    argument: 'boolean',
    parse: parseBool,
    note: 'ONNX Runtime decides by itself about access between GPUs',
  }),
  deprecated({
    name: 'strict-model-config',
    argument: 'boolean',
    warning:
      "Warning: '--strict-model-config' has been deprecated! Please use '--disable-auto-complete-config' instead.",
    parse: parseBool,
    set({ options, given }, strict) {
      if (!given.has('disable-auto-complete-config')) options.models.autoComplete = !strict;
      if (strict) given.delete('strict-model-config');
    },
  }),
];
