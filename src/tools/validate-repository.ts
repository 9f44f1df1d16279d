/** The repository checker: what a server would refuse, without a server. */
import { compareBytes } from '../base/compare-bytes.js';
import { TritonError } from '../base/error.js';
import type { Finding } from '../contract/finding.js';
import { RULES, type RuleName } from '../contract/rule-table.js';
import { ENSEMBLE_PLATFORM } from '../modelconfig/complete/normalize.js';
import { cacheFaults } from '../modelconfig/rules/model.js';
import { checkRepository, joinPath, kindOf, listModels } from '../repository/files/local.js';
import { checkEnsembleGraph, isDecoupled, type Member } from '../repository/load/ensemble-graph.js';
import { type ValidatedModel, type ValidateOptions, validateModel } from './validate-model.js';

/** What was found. */
export interface ValidationReport {
  readonly repositories: readonly string[];
  /** Names of all models, byte-wise ascending. */
  readonly models: readonly string[];
  readonly findings: readonly Finding[];
  /** Every model that is there once, by name. */
  readonly judged: ReadonlyMap<string, ValidatedModel>;
}

/** Models examined at once: enough to hide the latency of files, few enough to stay well below the limit of open ones. */
const CONCURRENCY = 8;

/** Judges all repositories of one server together. */
export async function validateRepositories(
  directories: readonly string[],
  options: ValidateOptions,
): Promise<ValidationReport> {
  const repositories = [...new Set(directories)].sort(compareBytes);
  const findings: Finding[] = [];
  const places = new Map<string, string[]>();
  for (const repository of repositories) {
    try {
      await checkRepository(repository);
      for (const name of await listModels(repository)) {
        places.set(name, [...(places.get(name) ?? []), repository]);
      }
      await checkPlace(repository, findings);
    } catch (reason) {
      const { message } = TritonError.from(reason);
      findings.push({ severity: 'error', rule: 'repository', message, file: repository });
    }
  }
  const names = [...places.keys()].sort(compareBytes);
  for (const name of names) findings.push(...nameDoubts(name, places.get(name) as string[]));
  const models = new Map<string, ValidatedModel>();
  const failed = new Set<string>();
  await forEach(names, async (name) => {
    const [first, ...others] = places.get(name) as [string, ...string[]];
    if (others.length > 0) return;
    const directory = joinPath(first, name);
    try {
      models.set(name, await validateModel(directory, name, options));
    } catch (reason) {
      // Whatever is wrong with one model, the others are judged.
      const { message } = TritonError.from(reason);
      findings.push({ severity: 'error', rule: 'model-unreadable', message, file: directory, model: name });
      failed.add(name);
    }
  });
  checkEnsembles(models);
  for (const name of names) {
    const model = models.get(name);
    if (model === undefined && failed.has(name)) continue;
    if (model === undefined) findings.push(duplicate(name, places.get(name) as string[]));
    else for (const finding of model.findings) findings.push(finding);
  }
  return { repositories, models: names, findings: gatherHostFindings(findings), judged: models };
}

/** Rules that speak of this machine and not of a model. */
const ABOUT_HOST: ReadonlySet<string> = new Set(['python-not-run', 'onnx-runtime-missing']);

/** Reports what is missing on this machine once, not for every model. */
function gatherHostFindings(findings: readonly Finding[]): Finding[] {
  const counts = new Map<string, number>();
  for (const { rule, message } of findings) {
    if (ABOUT_HOST.has(rule)) counts.set(message, (counts.get(message) ?? 0) + 1);
  }
  const told = new Set<string>();
  return findings.flatMap((finding) => {
    const count = ABOUT_HOST.has(finding.rule) ? (counts.get(finding.message) ?? 0) : 1;
    if (count < 2) return [finding];
    if (told.has(finding.message)) return [];
    told.add(finding.message);
    const { position: _, model: __, ...rest } = finding;
    return [{ ...rest, message: `${finding.message} (this concerns ${count} models)` }];
  });
}

/** Directories that are probably not models, and names that HTTP clients cannot ask for. */
function nameDoubts(name: string, repositories: readonly string[]): Finding[] {
  const doubt = (rule: RuleName, message: string): Finding[] => {
    const file = joinPath(repositories[0] as string, name);
    return [{ severity: 'warning', rule, message, file, model: name, remedy: RULES[rule].remedy }];
  };
  if (name.startsWith('.') || name === 'lost+found' || name === '__pycache__') {
    return doubt('hidden-directory', `'${name}' is probably not a model, but a server takes every directory for one`);
  }
  if (/^[\w.~-]+$/.test(name)) return [];
  return doubt(
    'model-name',
    `HTTP clients cannot ask for '${name}', because paths are not percent-decoded; gRPC clients can`,
  );
}

function duplicate(name: string, repositories: readonly string[]): Finding {
  return {
    severity: 'error',
    rule: 'model-duplicate',
    message: `failed to poll model '${name}': not unique across all model repositories`,
    file: joinPath(repositories[0] as string, name),
    model: name,
    remedy: `Keep it in one of ${repositories.join(', ')}.`,
  };
}

/** The most common mistake: the directory of one model, or of one version, where the repository was meant. */
async function checkPlace(repository: string, findings: Finding[]): Promise<void> {
  const isModel = (await kindOf(joinPath(repository, 'config.pbtxt'))) === 'file';
  if (!isModel) return;
  findings.push({
    severity: 'warning',
    rule: 'repository-is-model',
    message: `'${repository}' looks like the directory of one model: it holds a config.pbtxt`,
    file: repository,
    remedy: 'Name the directory above it.',
  });
}

/** Ensembles need their members; one that is invalid makes those that use it invalid, so members go first. */
function checkEnsembles(models: ReadonlyMap<string, ValidatedModel>): void {
  const problems = new Map<string, string>();
  const visiting = new Set<string>();
  const member = (name: string): Member | undefined => {
    const model = models.get(name);
    if (model?.config === undefined) return undefined;
    const invalid = problems.get(name);
    return {
      config: model.config,
      versions: model.versions,
      judged: model.judged,
      ...(invalid === undefined ? {} : { invalid }),
      ...(model.loadError === undefined ? {} : { loadError: model.loadError }),
    };
  };
  const visit = (model: ValidatedModel): void => {
    const { config, name } = model;
    if (config?.platform !== ENSEMBLE_PLATFORM || visiting.has(name)) return;
    visiting.add(name);
    for (const step of config.ensemble_scheduling?.step ?? []) {
      const next = models.get(step.model_name);
      if (next !== undefined) visit(next);
    }
    const faults = checkEnsembleGraph(config, member, models.keys());
    // Triton writes what the members make of it into the configuration.
    const decoupled = isDecoupled(name, member);
    const completed = { ...config, model_transaction_policy: { decoupled } };
    if (faults.length === 0 && !config.model_transaction_policy?.decoupled) faults.push(...cacheFaults(completed));
    if (faults[0] !== undefined) problems.set(name, faults[0].message);
    model.addFaults(faults);
    if (faults.length === 0) model.config = completed;
  };
  for (const model of models.values()) visit(model);
}

async function forEach<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) await work(items[next++] as T);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}
