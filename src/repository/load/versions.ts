/** Which versions of a model are loaded. */
import { invalidArg, type TritonError } from '../../base/error.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { listDirectory } from '../files/local.js';

/** Sub-directories of a model that are never versions. */
const RESERVED: ReadonlySet<string> = new Set(['warmup', 'initial_state', 'configs']);
const LARGEST_VERSION = 2n ** 63n - 1n;

/** What the version policy makes of a model's directory. */
export interface VersionSelection {
  /** Versions to load, ascending. */
  readonly versions: readonly string[];
  /** Every version directory, ascending. */
  readonly available: readonly string[];
  /** Directories whose names do not look like a version, with Triton's warning. */
  readonly ignored: readonly { readonly name: string; readonly message: string }[];
  /** Versions that the policy names but that are not there, with Triton's error line; they do not fail the load. */
  readonly missing: readonly { readonly version: string; readonly message: string }[];
  /** Set when nothing is left: the model cannot be loaded. */
  readonly error: TritonError | undefined;
}

/** Applies the version policy to the directories of a model. */
export async function selectVersions(modelDirectory: string, config: ModelConfig): Promise<VersionSelection> {
  const { directories } = await listDirectory(modelDirectory);
  const ignored: { name: string; message: string }[] = [];
  const found: bigint[] = [];
  for (const name of directories) {
    if (RESERVED.has(name)) continue;
    const problem = versionProblem(name);
    if (problem === undefined) found.push(BigInt(name));
    else ignored.push({ name, message: `ignore version directory '${name}' which ${problem}` });
  }
  found.sort((a, b) => (a < b ? -1 : 1));
  const { versions, missing } = applyPolicy(found, config.version_policy);
  return {
    versions: versions.map(String),
    available: found.map(String),
    ignored,
    missing: missing.map((version) => ({
      version: String(version),
      message: `version ${version} is specified for model '${config.name}', but the version directory is not present`,
    })),
    error:
      versions.length > 0
        ? undefined
        : invalidArg(`at least one version must be available under the version policy of model '${config.name}'`),
  };
}

function versionProblem(name: string): string | undefined {
  if (name.length > 1 && name.startsWith('0')) return 'contains leading zeros in its directory name';
  if (!/^[0-9]+$/.test(name) || BigInt(name) > LARGEST_VERSION) return 'fails to convert to integral number';
  return undefined;
}

function applyPolicy(
  found: readonly bigint[],
  policy: ModelConfig['version_policy'],
): { versions: readonly bigint[]; missing: readonly bigint[] } {
  if (policy?.specific !== undefined) {
    const wanted = [...new Set(policy.specific.versions)].sort((a, b) => (a < b ? -1 : 1));
    return {
      versions: wanted.filter((version) => found.includes(version)),
      missing: wanted.filter((version) => !found.includes(version)),
    };
  }
  if (policy?.latest !== undefined) {
    const count = policy.latest.num_versions;
    return { versions: count === 0 ? [] : found.slice(-count), missing: [] };
  }
  return { versions: found, missing: [] };
}
