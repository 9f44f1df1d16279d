/** The options of a server that decide what it makes of a repository. */
import { type Command as Commander, InvalidArgumentError, Option } from 'commander';
import { BackendRegistry } from '../../backends/registry.js';
import { DEFAULT_BACKEND_DIRECTORY } from '../../repository/load/prepare-load.js';
import type { ValidateOptions } from '../../tools/validate-model.js';

/** Options of a server that change nothing here; they are accepted so that a server's arguments can be given as they are. */
const WITHOUT_EFFECT = ['exit-on-error', 'strict-readiness', 'model-load-retry-count', 'cache-config', 'log-verbose'];

/** The options as commander parses them. */
export interface ServerFlags {
  /** False with --no-run. */
  readonly run: boolean;
  readonly assumeBackend: readonly string[];
  readonly disableAutoCompleteConfig?: boolean;
  readonly strictModelConfig?: boolean;
  readonly modelConfigName?: string;
  readonly backendConfig: readonly string[];
  readonly backendDirectory: string;
  readonly repoagentDirectory?: string;
  readonly gpus?: readonly number[];
}

/** Adds the options to a command; returns it. */
export function addServerOptions(command: Commander): Commander {
  command
    .option('--no-run', 'do not import Python models: what only their code can show is not checked')
    .addOption(list('--assume-backend <name>', 'judge models of this backend as if it were here; may be repeated'))
    .option('--gpus <ids>', 'GPUs of the server, e.g. 0,1 (default: those of this machine)', parseGpus)
    .option('--disable-auto-complete-config', 'as the server: configurations must be complete')
    .option('--strict-model-config [value]', 'as the server; deprecated form of the above', parseBoolean)
    .option('--model-config-name <name>', 'as the server: use configs/<name>.pbtxt where it exists')
    .addOption(
      list('--backend-config <setting>', 'as the server: <backend>,<key>=<value> or <key>=<value>; may be repeated'),
    )
    .option('--backend-directory <path>', 'as the server: Python backends lie there', DEFAULT_BACKEND_DIRECTORY)
    .option('--repoagent-directory <path>', 'as the server: named in messages');
  for (const name of WITHOUT_EFFECT) command.addOption(new Option(`--${name} <value>`).hideHelp());
  return command;
}

/** What the validator is to assume of the server that the options describe. */
export function validateOptions(flags: ServerFlags): ValidateOptions {
  // Every other one is reported as missing, as a server would. Backends that are Python models are found by the server's
  // own rule; what their code would complete is not known here.
  const registry = new BackendRegistry(flags.backendDirectory);
  const backends = registry.catalogue;
  const assumed = new Set(flags.assumeBackend);
  const settings = flags.backendConfig.map(parseBackendConfig);
  return {
    backends,
    autoComplete: !(flags.disableAutoCompleteConfig ?? flags.strictModelConfig ?? false),
    ...(flags.modelConfigName === undefined ? {} : { configName: flags.modelConfigName }),
    ...(flags.repoagentDirectory === undefined ? {} : { repoAgentDirectory: flags.repoagentDirectory }),
    host: {
      backends,
      gpus: flags.gpus ?? registry.gpus(),
      hasBackend: (name) => assumed.has(name) || registry.traits(name) !== undefined,
      supportsOptionalInputs: (name) => registry.traits(name)?.optionalInputs ?? false,
      backendDirectory: flags.backendDirectory,
    },
    // Settings of one backend win over those for all; later ones over earlier ones.
    backendConfig: (backend) =>
      new Map(
        ['', backend].flatMap((scope) =>
          settings.filter((setting) => setting.backend === scope).map(({ key, value }) => [key, value] as const),
        ),
      ),
    findExaminer: (backend) => registry.examiner(backend),
    runModelCode: flags.run,
  };
}

function parseBackendConfig(text: string): { backend: string; key: string; value: string } {
  const [, backend = '', key = '', value = ''] = /^(?:([^,=]*),)?([^=]*)=?(.*)$/s.exec(text) ?? [];
  return { backend, key, value };
}

function parseBoolean(text: string): boolean {
  if (/^(?:true|1|on)$/i.test(text)) return true;
  if (/^(?:false|0|off)$/i.test(text)) return false;
  throw new InvalidArgumentError('true or false is expected.');
}

function parseGpus(text: string): readonly number[] {
  if (!/^(?:\d+(?:,\d+)*)?$/.test(text)) throw new InvalidArgumentError('GPUs are numbers with commas between.');
  return text === '' ? [] : text.split(',').map(Number);
}

/** An option that may be given several times. */
function list(flags: string, description: string): Option {
  return new Option(flags, description).argParser(collect).default([], 'none');
}

function collect(value: string, previous: readonly string[]): readonly string[] {
  return [...previous, value];
}
