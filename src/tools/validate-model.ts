/** Everything that can be said of one model before it is loaded, as findings and as other models see it. */

import { TritonError } from '../base/error.js';
import type { KnownBackends } from '../contract/backend-traits.js';
import { type Fault, faultOf } from '../contract/fault.js';
import type { FileExaminer, RunLimits } from '../contract/file-examiner.js';
import type { Finding, Position } from '../contract/finding.js';
import { RULES } from '../contract/rule-table.js';
import { ENSEMBLE_PLATFORM } from '../modelconfig/complete/normalize.js';
import type { PositionMap } from '../modelconfig/pbtxt/position-map.js';
import { reportedErrors } from '../modelconfig/pbtxt/reported-errors.js';
import type { ModelConfig } from '../protocol/proto/model-config.js';
import { joinPath } from '../repository/files/local.js';
import { initFileFaults, instanceFileFaults, labelDoubts } from '../repository/load/model-file-faults.js';
import { type PolledModel, type PollOptions, pollModel } from '../repository/load/poll-model.js';
import { finishConfig, type LoadHost, optionalInputFaults, prepareLoad } from '../repository/load/prepare-load.js';
import type { AvailableResource } from '../repository/load/rate-limits.js';
import { selectVersions, type VersionSelection } from '../repository/load/versions.js';
import { findMisplaced, type MisplacedFile } from './misplaced-file.js';

/** What the validator assumes of the server. */
export interface ValidateOptions extends PollOptions {
  readonly host: LoadHost;
  /** --backend-config of one backend, global settings merged in. */
  backendConfig(backend: string): ReadonlyMap<string, string>;
  findExaminer(backend: string): Promise<FileExaminer>;
  /** How far the code of Python models is run. */
  readonly run: RunLimits;
  /** Models that are looked at, and started, at the same time (--model-load-thread-count). Default 4. */
  readonly atOnce?: number;
  /** The models that are loaded at start, with what their ensembles need (--load-model); default all. */
  readonly loadModels?: readonly string[];
  /** What there is of the resources of the rate limiter; absent when it is off. */
  readonly rateLimit?: readonly AvailableResource[];
}

/** One model, judged. */
export interface ValidatedModel {
  readonly name: string;
  readonly findings: Finding[];
  /** The model as polling found it, with what the user wrote. */
  readonly polled: PolledModel;
  /** Configuration of the latest version, completed; undefined when polling fails, so that the model is unknown. */
  config: ModelConfig | undefined;
  /** Versions that would be loaded; empty when any of them fails. */
  readonly versions: readonly string[];
  /** Why none is loaded, as the lifecycle words it. */
  readonly loadError: string | undefined;
  /** False when faults leave the configuration incomplete, so that ensembles cannot be compared with it. */
  readonly judged: boolean;
  /** True when the model has code of its own that was not run as far as a server would. */
  readonly notRun: boolean;
  /** Turns faults that are found later into findings of this model. */
  addFaults(faults: readonly Fault[]): void;
}

/** Rules whose faults say nothing against the configuration. */
const OUTSIDE_CONFIG: ReadonlySet<string> = new Set([
  'backend-library',
  'model-file-missing',
  'model-file-empty',
  'python-not-run',
]);

const EMPTY = new Uint8Array(0);

/** Judges one model. */
export async function validateModel(
  directory: string,
  name: string,
  options: ValidateOptions,
): Promise<ValidatedModel> {
  const polled = await pollModel(directory, name, options);
  const findings = new ModelFindings(polled);
  const addFaults = (faults: readonly Fault[]) => findings.add('error', faults);
  const base = { name, findings: findings.list, polled, addFaults, notRun: false };
  const unknown = { ...base, config: undefined, versions: [], loadError: undefined, judged: false };
  addFaults(await withMisplacedFile(polled, options.backends));
  if (!polled.recognised) return unknown;
  const selection = await selectVersions(directory, polled.config);
  findings.addSelection(selection, await findMisplaced(directory, options.backends));
  const { error } = selection;
  if (error !== undefined) {
    if (polled.faults.length > 0) return unknown;
    return { ...base, config: polled.config, versions: [], loadError: error.message, judged: false };
  }
  let config = polled.config;
  let loadError = '';
  let judged = true;
  let notRun = false;
  for (const version of selection.versions) {
    const checked = await validateVersion(polled, version, options, findings);
    const [first] = checked.faults;
    if (first !== undefined) {
      const { code, message } = first;
      loadError += `version ${version} is at UNAVAILABLE state: ${new TritonError(code, message).toStatusText()};`;
    }
    if (checked.faults.some(({ rule }) => !OUTSIDE_CONFIG.has(rule))) judged = false;
    addFaults(checked.faults);
    config = checked.config;
    notRun ||= checked.notRun;
  }
  // A server loads such a model, as Triton does, but no request can have as many inputs as the model then wants.
  if (loadError === '') addFaults(twiceNamed('input', config.input));
  findings.add('warning', twiceNamed('output', config.output));
  if (polled.faults.length > 0) return unknown;
  const versions = loadError === '' ? selection.versions : [];
  return { ...base, config, versions, loadError: loadError || undefined, judged, notRun };
}

/** Polling cannot know the backend of a model whose file lies outside the version directory. */
async function withMisplacedFile(
  { directory, faults }: PolledModel,
  backends: KnownBackends,
): Promise<readonly Fault[]> {
  if (!faults.some(({ rule }) => rule === 'backend-unknown')) return faults;
  const remedy = (await findMisplaced(directory, backends))?.remedy;
  if (remedy === undefined) return faults;
  return faults.map((fault) => (fault.rule === 'backend-unknown' ? { ...fault, remedy } : fault));
}

async function validateVersion(
  polled: PolledModel,
  version: string,
  options: ValidateOptions,
  findings: ModelFindings,
): Promise<{ config: ModelConfig; faults: readonly Fault[]; notRun: boolean }> {
  const { directory } = polled;
  const prepared = await prepareLoad(polled.config, directory, version, options.host);
  const faults: Fault[] = [...prepared.faults];
  let { config } = prepared;
  const { backends, host } = options;
  if (config.platform === ENSEMBLE_PLATFORM) {
    const finished = finishConfig(config, polled.configProvided, backends);
    faults.push(...finished.faults, ...(await initFileFaults(directory, finished.config)));
    findings.add('warning', await labelDoubts(directory, finished.config));
    return { config: finished.config, faults, notRun: false };
  }
  let notRun = false;
  try {
    const examine = await options.findExaminer(config.backend);
    const examined = await examine({
      modelDirectory: directory,
      version,
      config,
      autoComplete: options.autoComplete,
      backendConfig: options.backendConfig(config.backend),
      run: options.run,
    });
    notRun = examined.notRun ?? false;
    faults.push(...examined.faults);
    findings.add('warning', examined.doubts);
    const finished = finishConfig(examined.config, polled.configProvided || examined.provided, backends);
    config = finished.config;
    if (examined.tensors !== 'unknown') {
      faults.push(...finished.faults, ...(await initFileFaults(directory, config)));
      faults.push(...optionalInputFaults(config, host.supportsOptionalInputs(config.backend)));
    }
    if (examined.tensors === 'complete') {
      findings.add('warning', await labelDoubts(directory, config));
      faults.push(...(await examined.instanceFaults(config)), ...(await instanceFileFaults(directory, config)));
    }
    if (faults.length === 0 && polled.faults.length === 0 && examined.start !== undefined) {
      const started = await examined.start(config);
      faults.push(...started.faults);
      findings.add('warning', started.doubts);
    }
  } catch (reason) {
    faults.push(faultOf(reason, 'model-file', ['default_model_filename']));
  }
  return { config, faults, notRun };
}

/** Tensors whose name one before them has. */
function twiceNamed(kind: 'input' | 'output', tensors: readonly { readonly name: string }[]): Fault[] {
  return tensors.flatMap(({ name }, i): Fault[] => {
    if (name === '' || tensors.findIndex((other) => other.name === name) === i) return [];
    const message =
      kind === 'input'
        ? `two inputs are called '${name}', so that no request can be complete: a request has one input of a name`
        : `two outputs are called '${name}', so that clients cannot ask for one of them`;
    return [{ rule: 'tensor-name-twice', code: 'INVALID_ARG', message, path: [kind, i, 'name'] }];
  });
}

/** Collects findings of one model; the same fault of several versions is reported once. */
class ModelFindings {
  readonly list: Finding[] = [];
  readonly #model: PolledModel;
  readonly #reported = new Set<string>();

  constructor(model: PolledModel) {
    this.#model = model;
    for (const { error, remedy = RULES['config-syntax'].remedy } of reportedErrors(
      model.parseErrors,
      model.text ?? EMPTY,
    )) {
      const { message, token } = error;
      const server = model.faults[0]?.message;
      const parserErrors = model.parseErrors.map(({ position, message }) => ({ ...position, message }));
      this.#push({
        severity: 'error',
        rule: 'config-syntax',
        message,
        position: token,
        ...(server === undefined ? {} : { serverMessage: server, parserErrors }),
        remedy,
      });
    }
  }

  add(severity: Finding['severity'], faults: readonly Fault[]): void {
    for (const fault of faults) {
      const { rule, message, path, details, file } = fault;
      if (rule === 'config-syntax') continue;
      const position = file === undefined ? placeOf(this.#model.positions, path) : fault.position;
      const { remedy = RULES[rule].remedy } = fault;
      this.#push({
        severity,
        rule,
        message,
        ...(position === undefined ? {} : { position }),
        ...(details === undefined ? {} : { details }),
        remedy,
        ...(file === undefined ? {} : { file }),
      });
    }
  }

  /** `misplaced`: a model's file that lies beside the version directories instead of in one. */
  addSelection(selection: VersionSelection, misplaced: MisplacedFile | undefined): void {
    for (const { message } of selection.ignored) {
      this.#push({
        severity: 'warning',
        rule: 'version-directory',
        message,
        remedy: RULES['version-directory'].remedy,
      });
    }
    const position = placeOf(this.#model.positions, ['version_policy']);
    const place = position === undefined ? {} : { position };
    for (const { message } of selection.missing) {
      const { remedy } = RULES['version-missing'];
      this.#push({ severity: 'warning', rule: 'version-missing', message, remedy, ...place });
    }
    const { error } = selection;
    if (error === undefined) return;
    if (selection.available.length > 0) {
      const remedy = `There are versions ${selection.available.join(', ')}, but 'version_policy' selects none of them.`;
      this.#push({ severity: 'error', rule: 'no-version', message: error.message, remedy, ...place });
      return;
    }
    // What is missing is a directory: no line of the configuration is at fault.
    const { directory } = this.#model;
    const remedy =
      misplaced?.remedy ??
      `Make a version directory, e.g. ${joinPath(directory, '1')}, and put the model's file into it.`;
    this.#push({ severity: 'error', rule: 'no-version', message: error.message, remedy, file: directory });
  }

  #push(finding: Omit<Finding, 'model'>): void {
    const key = `${finding.rule}\0${finding.message}\0${finding.position?.line}:${finding.position?.column}`;
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    const file = this.#model.text === undefined ? this.#model.directory : this.#model.configPath;
    this.list.push({ file, ...finding, model: this.#model.name });
  }
}

/** Place of a field, or of what is nearest around it; the file's start for what is missing at the top. */
function placeOf(positions: PositionMap | undefined, path: Fault['path']): Position | undefined {
  return positions === undefined ? undefined : (positions.nearest(path) ?? { line: 1, column: 1 });
}
