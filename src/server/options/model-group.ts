import { checked, type OptionSpec, oneOf, option, type Setter, text } from './option-spec.js';
import { BadOption, parseBool, parseInt32, parseTimeoutSeconds } from './parse-value.js';
import type { ModelControlMode } from './server-options.js';

const REPOSITORY = 'Model Repository';

const addRepository: Setter<string> = (d, v) => d.repositories.push(v);

/** Options of repositories and of loading models. */
export const MODEL_OPTIONS: readonly OptionSpec[] = [
  option(REPOSITORY, 'model-store', 'string', text, addRepository, 'The same as --model-repository.'),
  option(
    REPOSITORY,
    'model-repository',
    'string',
    text,
    addRepository,
    'A directory of models, each a directory of its own; also s3://, gs:// and as://. May be given several times.',
  ),
  option(
    REPOSITORY,
    'exit-on-error',
    'boolean',
    parseBool,
    (d, v) => (d.exitOnError = v),
    'Exit when a model cannot be loaded at start-up. Default true.',
  ),
  {
    group: REPOSITORY,
    name: 'disable-auto-complete-config',
    help: 'Take configurations as they stand, without completing them from the model files.',
    apply(_value, state) {
      state.draft.autoComplete = false;
    },
  },
  option(
    REPOSITORY,
    'strict-readiness',
    'boolean',
    parseBool,
    (d, v) => (d.strictReadiness = v),
    'Report ready only when every model is ready. Default true.',
  ),
  option(
    REPOSITORY,
    'model-control-mode',
    'string',
    oneOf<ModelControlMode>(['none', 'poll', 'explicit'], 'invalid argument for --model-control-mode', true),
    (d, v) => (d.modelControlMode = v),
    'none: load everything once. poll: follow changes of the repositories. explicit: load and unload on request. Default none.',
  ),
  option(
    REPOSITORY,
    'repository-poll-secs',
    'integer',
    parseInt32,
    (d, v) => (d.repositoryPollSeconds = v),
    'Seconds between looks at the repositories in mode poll. Default 15.',
  ),
  option(
    REPOSITORY,
    'load-model',
    'string',
    text,
    (d, v) => d.loadModels.push(v),
    'Load this model at start-up in mode explicit; * loads all. May be given several times.',
  ),
  option(
    REPOSITORY,
    'model-config-name',
    'string',
    (v) => {
      if (v === '') throw new BadOption('Error: empty argument for --model-config-name');
      return v;
    },
    (d, v) => (d.modelConfigName = v),
    'Prefer configs/NAME.pbtxt of a model over its config.pbtxt.',
  ),
  option(
    REPOSITORY,
    'model-load-thread-count',
    'integer',
    parseInt32,
    (d, v) => (d.modelLoadThreadCount = Math.max(v, 1)),
    'Models that are loaded at the same time. Default 4.',
  ),
  option(
    REPOSITORY,
    'model-load-retry-count',
    'integer',
    parseInt32,
    (d, v) => (d.modelLoadRetryCount = Math.max(v, 0)),
    'Further attempts when a model fails to load. Default 0.',
  ),
  option(
    REPOSITORY,
    'model-completion-timeout',
    'integer',
    parseTimeoutSeconds,
    (d, v) => (d.modelCompletionSeconds = v),
    'Seconds that completing the configuration of a model from its files may take; then its load fails. 0 = no limit. Default 120.',
  ),
  option(
    REPOSITORY,
    'model-unload-timeout',
    'integer',
    parseTimeoutSeconds,
    (d, v) => (d.modelUnloadSeconds = v),
    'Seconds without a sign of life after which the process of an instance that should end is killed. 0 = never. Default 60.',
  ),
  option(
    REPOSITORY,
    'model-namespacing',
    'boolean',
    parseBool,
    (d, v) => (d.modelNamespacing = v),
    'Let several repositories have models of the same name; a request for such a name is then ambiguous and refused. Default false.',
  ),
  checked(
    REPOSITORY,
    'enable-peer-access',
    'boolean',
    parseBool,
    'ONNX Runtime decides by itself about access between GPUs',
  ),
];
