/** The options of a server that decide what it makes of a repository. */
import { BackendRegistry } from '../../backends/registry.js';
import { type Option, optionMaker } from '../../base/options/option.js';
import { OptionError } from '../../base/options/option-error.js';
import { boolean, text } from '../../base/options/parse-value.js';
import { DEFAULT_BACKEND_DIRECTORY } from '../../repository/load/prepare-load.js';
import type { ValidateOptions } from '../../tools/validate-model.js';

/** The values of the options. */
export interface ServerFlags {
  /** False with --no-run. */
  run: boolean;
  assumeBackend: readonly string[];
  /** undefined = those of this machine. */
  gpus: readonly number[] | undefined;
  disableAutoComplete: boolean;
  /** undefined = not given. */
  strictModelConfig: boolean | undefined;
  modelConfigName: string | undefined;
  backendConfig: readonly { readonly backend: string; readonly key: string; readonly value: string }[];
  backendDirectory: string;
  repoagentDirectory: string | undefined;
}

/** What a command with these options reads its command line into. */
export interface ServerFlagsContext {
  readonly options: { readonly server: ServerFlags };
}

/** The values that hold when an option is not given. */
export function defaultServerFlags(): ServerFlags {
  return {
    run: true,
    assumeBackend: [],
    gpus: undefined,
    disableAutoComplete: false,
    strictModelConfig: undefined,
    modelConfigName: undefined,
    backendConfig: [],
    backendDirectory: DEFAULT_BACKEND_DIRECTORY,
    repoagentDirectory: undefined,
  };
}

const { option, flag } = optionMaker<ServerFlagsContext>();

/** Options of a server that change nothing here; they are accepted so that a server's arguments can be given as they are. */
const WITHOUT_EFFECT = ['exit-on-error', 'strict-readiness', 'model-load-retry-count', 'cache-config', 'log-verbose'];

/** The entries of the commands' tables. */
export const SERVER_FLAGS: readonly Option<ServerFlagsContext>[] = [
  flag({
    name: 'no-run',
    help: 'Do not import Python models: what only their code can show is not checked.',
    set({ options: { server } }) {
      server.run = false;
    },
  }),
  option({
    name: 'assume-backend',
    argument: 'name',
    help: 'Judge models of this backend as if it were here; may be given several times.',
    repeatable: true,
    parse: text,
    set({ options: { server } }, name) {
      server.assumeBackend = [...server.assumeBackend, name];
    },
  }),
  option({
    name: 'gpus',
    argument: 'ids',
    help: 'GPUs of the server, such as 0,1.',
    default: 'those of this machine',
    parse: parseGpus,
    into: ['server', 'gpus'],
  }),
  flag({
    name: 'disable-auto-complete-config',
    help: 'As the server: configurations must be complete.',
    into: ['server', 'disableAutoComplete'],
  }),
  option({
    name: 'strict-model-config',
    argument: '[value]',
    help: 'As the server: the deprecated form of --disable-auto-complete-config.',
    parse: (value: string) => value === '' || boolean(value),
    into: ['server', 'strictModelConfig'],
  }),
  option({
    name: 'model-config-name',
    argument: 'name',
    help: 'As the server: use configs/NAME.pbtxt where it exists.',
    parse: text,
    into: ['server', 'modelConfigName'],
  }),
  option({
    name: 'backend-config',
    argument: 'setting',
    help: 'As the server: BACKEND,KEY=VALUE or KEY=VALUE; may be given several times.',
    repeatable: true,
    parse: parseBackendConfig,
    set({ options: { server } }, setting) {
      server.backendConfig = [...server.backendConfig, setting];
    },
  }),
  option({
    name: 'backend-directory',
    argument: 'path',
    help: 'As the server: Python backends are there.',
    parse: text,
    into: ['server', 'backendDirectory'],
  }),
  option({
    name: 'repoagent-directory',
    argument: 'path',
    help: 'As the server: named in messages.',
    parse: text,
    into: ['server', 'repoagentDirectory'],
  }),
  ...WITHOUT_EFFECT.map((name) =>
    option({ name, argument: 'value', hidden: true, help: 'Accepted without effect.', parse: text, set() {} }),
  ),
];

/** What the validator is to assume of the server that the options describe. */
export function validateOptions(flags: ServerFlags): ValidateOptions {
  // Every other one is reported as missing, as a server would. Backends that are Python models are found by the server's
  // own rule; what their code would complete is not known here.
  const registry = new BackendRegistry(flags.backendDirectory);
  const backends = registry.catalogue;
  const assumed = new Set(flags.assumeBackend);
  return {
    backends,
    autoComplete: !(flags.disableAutoComplete || flags.strictModelConfig === true),
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
          flags.backendConfig
            .filter((setting) => setting.backend === scope)
            .map(({ key, value }) => [key, value] as const),
        ),
      ),
    findExaminer: (backend) => registry.examiner(backend),
    runModelCode: flags.run,
  };
}

function parseBackendConfig(setting: string): ServerFlags['backendConfig'][number] {
  const [, backend = '', key = '', value = ''] = /^(?:([^,=]*),)?([^=]*)=?(.*)$/s.exec(setting) ?? [];
  return { backend, key, value };
}

function parseGpus(ids: string): readonly number[] {
  if (!/^(?:\d+(?:,\d+)*)?$/.test(ids)) {
    throw new OptionError(`expected the numbers of GPUs with commas between them, got '${ids}'`);
  }
  return ids === '' ? [] : ids.split(',').map(Number);
}
