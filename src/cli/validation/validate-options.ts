/** The options of a server that decide what it makes of a repository, and those of the commands that judge one. */
import { BackendRegistry } from '../../backends/registry.js';
import { type Option, optionMaker } from '../../base/options/option.js';
import { OptionError } from '../../base/options/option-error.js';
import { text } from '../../base/options/parse-value.js';
import type { RunLimits } from '../../contract/file-examiner.js';
import type { ParseState } from '../../server/options/server-option.js';
import { defaultServerOptions, OPTION_TABLE } from '../../server/options/server-options.js';
import type { ValidateOptions } from '../../tools/validate-model.js';

/** The values of the options that a server does not have. */
export interface JudgeFlags {
  /** False with --no-run. */
  run: boolean;
  assumeBackend: readonly string[];
  /** undefined = those of this machine. */
  gpus: readonly number[] | undefined;
}

/** What a command with these options reads its command line into: what a server reads, and what is for the judging. */
export interface ServerFlagsContext extends ParseState {
  readonly options: ParseState['options'] & { readonly judge: JudgeFlags };
}

/** The values that hold when an option is not given. */
export function serverFlagsContext(): ServerFlagsContext {
  return {
    options: { ...defaultServerOptions(), judge: { run: true, assumeBackend: [], gpus: undefined } },
    given: new Map(),
    traceGiven: new Set(),
    warn: (line) => process.stderr.write(`${line}\n`),
    late: [],
    unsupported: [],
  };
}

const { option, flag } = optionMaker<ServerFlagsContext>();

/** Options of a server that change what it loads. They are the server's own entries. */
const LOADING: ReadonlySet<string> = new Set([
  'disable-auto-complete-config',
  'strict-model-config',
  'model-config-name',
  'model-control-mode',
  'load-model',
  'model-load-thread-count',
  'model-completion-timeout',
  'backend-config',
  'backend-directory',
  'repoagent-directory',
  'rate-limit',
  'rate-limit-resource',
]);

/** Entries of the server that are not taken: the commands have their own. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'help',
  'version',
  'model-repository',
  'model-store',
  'model-namespacing',
]);

/** The entries of the commands' tables. The other options of a server are read and change nothing. */
export const SERVER_FLAGS: readonly Option<ServerFlagsContext>[] = [
  flag({
    name: 'no-run',
    help: 'Do not run the code of Python models: what only their code can show is not checked.',
    set({ options: { judge } }) {
      judge.run = false;
    },
  }),
  option({
    name: 'assume-backend',
    argument: 'name',
    help: 'Judge models of this backend as if it were here; may be given several times.',
    repeatable: true,
    parse: text,
    set({ options: { judge } }, name) {
      judge.assumeBackend = [...judge.assumeBackend, name];
    },
  }),
  option({
    name: 'gpus',
    argument: 'ids',
    help: 'GPUs of the server, such as 0,1.',
    default: 'those of this machine',
    parse: parseGpus,
    into: ['judge', 'gpus'],
  }),
  ...OPTION_TABLE.filter(({ name }) => !LEFT_OUT.has(name)).map((entry) => ofServer(entry)),
];

/** An entry of the server's table, with what the server does around it. */
function ofServer(entry: (typeof OPTION_TABLE)[number]): Option<ServerFlagsContext> {
  const { group: _, ...rest } = entry;
  return {
    ...rest,
    help: `As the server: ${entry.help}`,
    ...(LOADING.has(entry.name) ? {} : { hidden: true }),
    take(given, context) {
      context.given.set(entry.name, given.value);
      entry.take(given, context);
      const [refusal] = context.late;
      if (refusal !== undefined) throw new OptionError(refusal);
    },
  };
}

/** What the validator is to assume of the server that the options describe; `run`: how far models are run without --no-run. */
export function validateOptions(
  { judge, models, backends: settings, devices }: ServerFlagsContext['options'],
  upTo: RunLimits['upTo'] = 'completion',
  startSeconds = 0,
): ValidateOptions {
  if (models.loadModels.length > 0 && models.controlMode !== 'explicit') {
    throw new OptionError('--load-model needs --model-control-mode=explicit');
  }
  // Every other one is reported as missing, as a server would. Backends that are Python models are found by the server's
  // own rule.
  const registry = new BackendRegistry(settings.directory);
  const backends = registry.catalogue;
  const assumed = new Set(judge.assumeBackend);
  const chosen = models.loadModels.length > 0 && !models.loadModels.includes('*');
  return {
    backends,
    autoComplete: models.autoComplete,
    ...(models.configName === '' ? {} : { configName: models.configName }),
    repoAgentDirectory: settings.repoagentDirectory,
    host: {
      backends,
      gpus: judge.gpus ?? registry.gpus(),
      hasBackend: (name) => assumed.has(name) || registry.traits(name) !== undefined,
      supportsOptionalInputs: (name) => registry.traits(name)?.optionalInputs ?? false,
      backendDirectory: settings.directory,
    },
    // Settings of one backend win over those for all; later ones over earlier ones.
    backendConfig: (backend) =>
      new Map(
        ['', registry.traits(backend)?.settingsOf ?? '', backend].flatMap((scope) =>
          settings.config.filter((setting) => setting.backend === scope).map(({ key, value }) => [key, value] as const),
        ),
      ),
    findExaminer: (backend) => registry.examiner(backend),
    run: { upTo: judge.run ? upTo : 'nothing', completionSeconds: models.completionSeconds, startSeconds },
    atOnce: models.loadThreadCount,
    ...(chosen ? { loadModels: models.loadModels } : {}),
    ...(devices.rateLimit ? { rateLimit: devices.rateLimitResources } : {}),
  };
}

function parseGpus(ids: string): readonly number[] {
  if (!/^(?:\d+(?:,\d+)*)?$/.test(ids)) {
    throw new OptionError(`expected the numbers of GPUs with commas between them, got '${ids}'`);
  }
  return ids === '' ? [] : ids.split(',').map(Number);
}
