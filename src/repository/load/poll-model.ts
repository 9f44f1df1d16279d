/**
 * The first stage of a model's way into the server: reading, completing and checking its configuration before anything
 * is loaded. The server and the validator run this same code.
 */
import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { TritonError } from '../../base/error.js';
import { MAX_CONFIG_BYTES } from '../../base/files/read-regular-file.js';
import type { KnownBackends } from '../../contract/backend-traits.js';
import { type Fault, faultOf } from '../../contract/fault.js';
import type { RuleName } from '../../contract/rule-table.js';
import {
  completeBackendFields,
  noEntries,
  type VersionEntries,
} from '../../modelconfig/complete/complete-backend-fields.js';
import { ENSEMBLE_PLATFORM, normalizeModelConfig } from '../../modelconfig/complete/normalize.js';
import { configFromJson } from '../../modelconfig/json/config-json.js';
import type { ParseError } from '../../modelconfig/pbtxt/parser.js';
import type { PositionMap } from '../../modelconfig/pbtxt/position-map.js';
import { readPbtxt } from '../../modelconfig/pbtxt/read-pbtxt.js';
import { validateModelConfig, validateModelIO } from '../../modelconfig/rules/validate.js';
import { emptyModelConfig, type ModelConfig } from '../../protocol/proto/model-config.js';
import { findBrokenLink, joinPath, kindOf, listDirectory, readTextFile, statError } from '../files/local.js';
import { staysInside } from './stays-inside.js';

/** Server settings that decide how a configuration is read. */
export interface PollOptions {
  readonly backends: KnownBackends;
  /** False with --disable-auto-complete-config. */
  readonly autoComplete: boolean;
  /** --model-config-name */
  readonly configName?: string;
  /** --repoagent-directory */
  readonly repoAgentDirectory?: string;
  /** JSON that stands in for the file (`config` of a load call). */
  readonly override?: string;
}

/** A model as polling found it. */
export interface PolledModel {
  readonly name: string;
  /** `<repository>/<model>` */
  readonly directory: string;
  /** Backend fields completed, defaults filled in. Incomplete when there are faults. */
  readonly config: ModelConfig;
  /** The configuration as the user wrote it; empty where there is none or it cannot be read. */
  readonly given: ModelConfig;
  /** False when the model has no configuration of its own. */
  readonly configProvided: boolean;
  /** Path of the configuration's file, whether it exists or not. */
  readonly configPath: string;
  /** Text of the file, where it was read. */
  readonly text: Buffer | undefined;
  /** True when the configuration could be read and its backend is known, so that later stages can be judged too. */
  readonly recognised: boolean;
  /** Places of the values in the file. */
  readonly positions: PositionMap | undefined;
  /** What protobuf prints on stderr while the file is read. */
  readonly parseErrors: readonly ParseError[];
  /** Every rule that is broken, in Triton's order; a server reports the first. */
  readonly faults: readonly Fault[];
}

const DEFAULT_REPO_AGENT_DIRECTORY = '/opt/tritonserver/repoagents';

/** Polls one model. `name` is its directory's name. Throws only what is not about the model itself. */
export async function pollModel(directory: string, name: string, options: PollOptions): Promise<PolledModel> {
  const configPath = await configPathOf(directory, options.configName);
  const read = await readConfig(directory, configPath, options);
  const base = { name, directory, configPath, recognised: false, given: read.config, ...read };
  if (read.faults.length > 0) return base;
  let faults: readonly Fault[] = await agentFaults(read.config, options);
  let config = read.config;
  try {
    const place = { directoryName: name, entries: await firstVersionEntries(directory) };
    config = completeBackendFields(config, place, options.backends);
  } catch (reason) {
    return { ...base, faults: [...faults, faultOf(reason, 'backend-unknown', ['backend'])] };
  }
  config = normalizeModelConfig(config);
  // Joined, not spread into a call: a hostile configuration has more faults than a call takes arguments.
  faults = faults.concat(
    validateModelConfig(config, options.backends),
    options.autoComplete ? [] : validateModelIO(config, options.backends),
  );
  if (config.name !== name) {
    faults = faults.concat({
      rule: 'directory-name',
      code: 'INVALID_ARG',
      message: `unexpected directory name '${name}' for model '${config.name}', directory name must equal model name`,
      path: ['name'],
      remedy: `Write name: "${name}", leave 'name' out, or rename the directory.`,
    });
  }
  if (!staysInside(config.default_model_filename)) {
    faults = faults.concat({
      rule: 'model-file-outside',
      code: 'INVALID_ARG',
      message: `default_model_filename '${config.default_model_filename}' of model '${config.name}' leaves the version directory`,
      path: ['default_model_filename'],
      remedy: 'Put the file into the version directory, or a link to it.',
    });
  }
  return { ...base, recognised: config.backend !== '' || config.platform === ENSEMBLE_PLATFORM, config, faults };
}

/** `configs/<name>.pbtxt` if that is asked for and exists, else `config.pbtxt`. */
async function configPathOf(directory: string, configName: string | undefined): Promise<string> {
  if (configName !== undefined && configName !== '') {
    const custom = joinPath(directory, 'configs', `${configName}.pbtxt`);
    if ((await kindOf(custom)) === 'file') return custom;
  }
  return joinPath(directory, 'config.pbtxt');
}

type ReadConfig = Pick<PolledModel, 'config' | 'configProvided' | 'text' | 'positions' | 'parseErrors' | 'faults'>;

async function readConfig(directory: string, configPath: string, options: PollOptions): Promise<ReadConfig> {
  const empty: ReadConfig = {
    config: emptyModelConfig(),
    configProvided: false,
    text: undefined,
    positions: undefined,
    parseErrors: [],
    faults: [],
  };
  const fail = (reason: unknown, rule: RuleName): ReadConfig => ({ ...empty, faults: [faultOf(reason, rule, [])] });
  try {
    const broken = await findBrokenLink(directory);
    if (broken !== undefined) return fail(statError(broken), 'broken-link');
  } catch {
    return fail(statError(directory), 'model-directory');
  }
  if (options.override !== undefined) {
    try {
      return { ...empty, config: configFromJson(options.override), configProvided: true };
    } catch (reason) {
      const { code, message } = TritonError.from(reason);
      return fail(new TritonError(code, `Invalid config override: ${message}`), 'config-override');
    }
  }
  if (options.autoComplete && (await exists(configPath)) === undefined) return empty;
  let text: Buffer;
  try {
    text = await readTextFile(configPath, MAX_CONFIG_BYTES);
  } catch (reason) {
    return fail(reason, 'config-unreadable');
  }
  const { config, positions, errors } = readPbtxt(text);
  if (errors.length === 0) return { ...empty, config, configProvided: true, text, positions };
  const failure = new TritonError('INTERNAL', `failed to read text proto from ${configPath}`);
  return { ...fail(failure, 'config-syntax'), text, positions, parseErrors: errors };
}

async function exists(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch {
    return undefined;
  }
}

/** Entries of the byte-wise first sub-directory, which alone decide the backend of a model without a configuration. */
async function firstVersionEntries(directory: string): Promise<VersionEntries> {
  const [first] = (await listDirectory(directory)).directories;
  if (first === undefined) return noEntries;
  const { directories, files } = await listDirectory(joinPath(directory, first));
  const kinds = new Map<string, 'file' | 'directory'>();
  for (const name of directories) kinds.set(name, 'directory');
  for (const name of files) kinds.set(name, 'file');
  return { kindOf: (name) => kinds.get(name) };
}

/** Repository agents are native libraries, which cannot be run here: every one is refused as missing. */
async function agentFaults(config: ModelConfig, options: PollOptions): Promise<Fault[]> {
  const folder = options.repoAgentDirectory ?? DEFAULT_REPO_AGENT_DIRECTORY;
  return (config.model_repository_agents?.agents ?? []).map(({ name }, i) => ({
    rule: 'repository-agent',
    code: 'INVALID_ARG',
    message: `unable to find 'libtritonrepoagent_${name}.so' for repo agent '${name}', searched: ${folder}`,
    path: ['model_repository_agents', 'agents', i],
    remedy: "Remove 'model_repository_agents': native repository agents are not supported.",
  }));
}
