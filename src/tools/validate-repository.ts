/** The repository checker: what a server would refuse, without a server. */
import { compareBytes } from '../base/compare-bytes.js';
import { TritonError } from '../base/error.js';
import { type Fault, faultOf } from '../contract/fault.js';
import type { Finding } from '../contract/finding.js';
import { RULES, type RuleName } from '../contract/rule-table.js';
import { ENSEMBLE_PLATFORM, instanceKind } from '../modelconfig/complete/normalize.js';
import { cacheFaults } from '../modelconfig/rules/model.js';
import { checkRepository, joinPath, listModels } from '../repository/files/local.js';
import { repositoryHint } from '../repository/files/repository-help.js';
import { checkEnsembleGraph, isDecoupled, type Member } from '../repository/load/ensemble-graph.js';
import {
  type AvailableResource,
  neededResources,
  type ReadonlyPools,
  resourceLimits,
} from '../repository/load/rate-limits.js';
import { type ValidatedModel, type ValidateOptions, validateModel } from './validate-model.js';

/** What was found. */
export interface ValidationReport {
  readonly repositories: readonly string[];
  /** Names of all models, byte-wise ascending. */
  readonly models: readonly string[];
  readonly findings: readonly Finding[];
  /** Models whose code was not run as far as a server would run it. */
  readonly notRun: number;
  /** Every model that is there once, by name. */
  readonly judged: ReadonlyMap<string, ValidatedModel>;
}

/** Models examined at once when the options do not say: as many as a server loads. */
const AT_ONCE = 4;

/** Judges all repositories of one server together. */
export async function validateRepositories(
  directories: readonly string[],
  options: ValidateOptions,
): Promise<ValidationReport> {
  const repositories = [...new Set(directories)].sort(compareBytes);
  const findings: Finding[] = [];
  const places = new Map<string, string[]>();
  /** Repositories in whose place another directory was probably meant. */
  const mistaken = new Set<string>();
  for (const repository of repositories) {
    try {
      await checkRepository(repository);
      for (const name of await listModels(repository)) {
        places.set(name, [...(places.get(name) ?? []), repository]);
      }
      if (checkPlace(repository, findings)) mistaken.add(repository);
    } catch (reason) {
      const { message } = TritonError.from(reason);
      findings.push({ severity: 'error', rule: 'repository', message, file: repository });
    }
  }
  const { names, models, failed } = await validateModels(places, options, findings);
  for (const name of names) findings.push(...nameDoubts(name, places.get(name) as string[]));
  checkResources(models, options);
  checkEnsembles(models);
  for (const name of names) {
    const model = models.get(name);
    if (model !== undefined) {
      // What is wrong with such a "model" is that it is none: advice to change its files would do harm.
      const isModel = !places.get(name)?.some((repository) => mistaken.has(repository));
      for (const finding of model.findings) {
        const { remedy: _, ...bare } = finding;
        findings.push(isModel ? finding : bare);
      }
    } else if (!failed.has(name)) findings.push(duplicate(name, places.get(name) as string[]));
  }
  const notRun = [...models.values()].filter((model) => model.notRun).length;
  return { repositories, models: names, findings: gatherHostFindings(findings), notRun, judged: models };
}

interface Validated {
  /** Names of all that were looked at, byte-wise ascending. */
  readonly names: readonly string[];
  /** By name, in its order. */
  readonly models: Map<string, ValidatedModel>;
  /** Names of those that could not be judged at all; the findings have them. */
  readonly failed: ReadonlySet<string>;
}

/** Judges the models that are there once: all of them, or those of --load-model and the members of their ensembles. */
async function validateModels(
  places: ReadonlyMap<string, readonly string[]>,
  options: ValidateOptions,
  findings: Finding[],
): Promise<Validated> {
  const found = new Map<string, ValidatedModel>();
  const failed = new Set<string>();
  const asked = new Set(options.loadModels ?? places.keys());
  for (const name of asked) {
    if (places.has(name)) continue;
    const message = `failed to load '${name}', failed to poll from model repository`;
    findings.push({ severity: 'error', rule: 'load-model', message, model: name, remedy: RULES['load-model'].remedy });
  }
  let next = [...asked];
  while (next.length > 0) {
    const members = new Set<string>();
    await forEach(next.sort(compareBytes), options.atOnce ?? AT_ONCE, async (name) => {
      const [first, ...others] = places.get(name) ?? [];
      if (first === undefined || others.length > 0) return;
      const directory = joinPath(first, name);
      try {
        const model = await validateModel(directory, name, options);
        found.set(name, model);
        for (const step of model.config?.ensemble_scheduling?.step ?? []) members.add(step.model_name);
      } catch (reason) {
        // Whatever is wrong with one model, the others are judged.
        const { message } = TritonError.from(reason);
        findings.push({ severity: 'error', rule: 'model-unreadable', message, file: directory, model: name });
        failed.add(name);
      }
    });
    next = [...members].filter((name) => places.has(name) && !asked.has(name));
    for (const name of next) asked.add(name);
  }
  const models = new Map([...found].sort(([a], [b]) => compareBytes(a, b)));
  const names = [...asked].filter((name) => places.has(name)).sort(compareBytes);
  return { names, models, failed };
}

/** Instances that could never run for want of resources; of models that exclude each other, the later name is at fault. */
function checkResources(models: Map<string, ValidatedModel>, { rateLimit }: ValidateOptions): void {
  if (rateLimit === undefined) return;
  const instances: { readonly needs: ReadonlyPools }[] = [];
  for (const [name, model] of models) {
    const fault = resourceFault(model, instances, rateLimit);
    if (fault === undefined) continue;
    model.addFaults([fault]);
    const error = new TritonError(fault.code, fault.message).toStatusText();
    const loadError = model.versions.map((version) => `version ${version} is at UNAVAILABLE state: ${error};`).join('');
    models.set(name, { ...model, versions: [], loadError });
  }
}

function resourceFault(
  { config, versions }: ValidatedModel,
  instances: { readonly needs: ReadonlyPools }[],
  available: readonly AvailableResource[],
): Fault | undefined {
  if (config === undefined || config.platform === ENSEMBLE_PLATFORM || versions.length === 0) return undefined;
  for (const [i, group] of config.instance_group.entries()) {
    if (group.passive || group.count < 1) continue;
    for (const deviceId of instanceKind(group) === 'KIND_GPU' ? group.gpus : [0]) {
      const instance = { needs: neededResources(group.rate_limiter?.resources ?? [], deviceId) };
      try {
        resourceLimits([...instances, instance], available);
      } catch (reason) {
        return faultOf(reason, 'rate-limit', ['instance_group', i, 'rate_limiter']);
      }
      instances.push(instance);
    }
  }
  return undefined;
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
function checkPlace(repository: string, findings: Finding[]): boolean {
  const message = repositoryHint(repository, (directory) => `triton repo validate ${directory}`);
  if (message === undefined) return false;
  const rule = 'repository-is-model';
  findings.push({ severity: 'warning', rule, message, file: repository, remedy: RULES[rule].remedy });
  return true;
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

async function forEach<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) await work(items[next++] as T);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
