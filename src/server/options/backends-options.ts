import { text } from '../../base/options/parse-value.js';
import { parseGroupedSetting, parseInt32 } from './parse-value.js';
import { option, type ServerOption, withoutEffect } from './server-option.js';

/** Options of backends, repository agents and the response cache. */
export interface BackendsOptions {
  /** `--backend-config`, in order; `backend` '' = for all. */
  readonly config: readonly { readonly backend: string; readonly key: string; readonly value: string }[];
  readonly directory: string;
  readonly repoagentDirectory: string;
  readonly cacheDirectory: string;
  /** `--cache-config`, by cache, in order. */
  readonly cacheConfig: readonly { readonly cache: string; readonly key: string; readonly value: string }[];
}

/** The values that hold when an option is not given. */
export const BACKENDS_DEFAULTS: BackendsOptions = {
  config: [],
  directory: '/opt/tritonserver/backends',
  repoagentDirectory: '/opt/tritonserver/repoagents',
  cacheDirectory: '/opt/tritonserver/caches',
  cacheConfig: [],
};

const NO_AGENTS = 'repository agents are native libraries, which cannot be loaded here; messages name this directory';

/** The options of backends, repository agents and the response cache. */
export const BACKENDS_OPTIONS: readonly ServerOption[] = [
  option({
    name: 'backend-directory',
    group: 'Backend',
    argument: 'string',
    parse: text,
    into: ['backends', 'directory'],
    help: 'Directory of backends that are Python models: NAME/model.py serves models with the backend NAME.',
  }),
  option({
    name: 'backend-config',
    group: 'Backend',
    argument: '<string>,<string>=<string>',
    help: '[BACKEND,]SETTING=VALUE: a setting of one backend or of all. May be given several times.',
    repeatable: true,
    parse: (value) =>
      parseGroupedSetting(value, {
        noGroup:
          'No backend specified. --backend-config option format is <backend name>,<setting>=<value> or ' +
          '<setting>=<value>. Got ',
        format: "--backend-config option format is '<backend name>,<setting>=<value>'. Got ",
        groupRequired: false,
      }),
    set({ options: { backends } }, [backend, key, value]) {
      backends.config = [...backends.config, { backend, key, value }];
    },
  }),
  option({
    name: 'repoagent-directory',
    group: 'Repository Agent',
    argument: 'string',
    parse: text,
    into: ['backends', 'repoagentDirectory'],
    help: withoutEffect(NO_AGENTS),
    note: NO_AGENTS,
  }),
  option({
    name: 'cache-config',
    group: 'Response Cache',
    argument: '<string>,<string>=<string>',
    help:
      'CACHE,SETTING=VALUE: the response cache. The only cache is local, its setting size=BYTES. May be given several ' +
      'times.',
    default: 'none',
    repeatable: true,
    parse: (value) =>
      parseGroupedSetting(value, {
        noGroup: 'No cache specified. --cache-config option format is <cache name>,<setting>=<value>. Got ',
        format: "--cache-config option format is '<cache name>,<setting>=<value>'. Got ",
        groupRequired: true,
      }),
    set({ options: { backends } }, [cache, key, value]) {
      backends.cacheConfig = [...backends.cacheConfig, { cache, key, value }];
    },
  }),
  option({
    name: 'cache-directory',
    group: 'Response Cache',
    argument: 'string',
    parse: text,
    into: ['backends', 'cacheDirectory'],
    help: 'Named in messages about caches.',
  }),
  option({
    name: 'response-cache-byte-size',
    argument: 'integer',
    deprecated: true,
    help: 'Use --cache-config.',
    parse: parseInt32,
    set({ options: { backends }, warn }, size) {
      warn(
        "Warning: '--response-cache-byte-size' has been deprecated! This will default to the 'local' cache " +
          "implementation with the provided byte size for its config. Please use '--cache-config' instead. The " +
          `equivalent --cache-config CLI args would be: '--cache-config=local,size=${size}'`,
      );
      if (size > 0) {
        backends.cacheConfig = [...backends.cacheConfig, { cache: 'local', key: 'size', value: String(size) }];
      }
    },
  }),
];
