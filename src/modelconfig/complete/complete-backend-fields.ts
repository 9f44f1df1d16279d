/**
 * Recognising what kind of model a directory holds: fills `name`, `backend`, `platform` and `default_model_filename`. Runs
 * always, also with auto-completion switched off.
 */

import { invalidArg } from '../../base/error.js';
import type { KnownBackend, KnownBackends, ModelFormat } from '../../contract/backend-traits.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';

/** The entries of one version directory. */
export interface VersionEntries {
  /** undefined when there is no such entry. */
  kindOf(name: string): 'file' | 'directory' | undefined;
}

/** A version directory without entries, for models without any sub-directory. */
export const noEntries: VersionEntries = { kindOf: () => undefined };

/** Where a model lies, as far as that shows its backend. */
export interface ModelPlace {
  /** Name of the model's directory. */
  readonly directoryName: string;
  /** Entries of the first sub-directory, by the bytes of its name. */
  readonly entries: VersionEntries;
}

/** Completes a configuration; returns a new one. Throws INVALID_ARG when nothing shows the backend. */
export function completeBackendFields(config: ModelConfig, place: ModelPlace, backends: KnownBackends): ModelConfig {
  const result = { ...config, name: config.name || place.directoryName };
  const recognised = backends.some((backend) =>
    backend.recognisedByPlatform
      ? recogniseByPlatform(result, backend, place.entries)
      : recognise(result, backend, place.entries),
  );
  if (!recognised) custom(result, place.directoryName);
  return result;
}

/** Whatever the configuration says, or a file if it says nothing, shows the backend; the backend shows the rest. */
function recognise(config: ModelConfig, { name, formats }: KnownBackend, entries: VersionEntries): boolean {
  const { platform, default_model_filename: file } = config;
  if (config.backend === '') {
    const named = formats.some((format) => hasPlatform(format, platform) || format.fileName === file);
    const found = named || platform !== '' || file !== '' ? undefined : findFormat(formats, entries);
    if (!named && found === undefined) return false;
    config.backend = name;
    config.platform = platform || (found?.platform ?? '');
  }
  if (config.backend !== name) return false;
  const format =
    config.platform === ''
      ? formats.find(({ fileName }) => fileName === file)
      : formats.find((candidate) => candidate.platform === config.platform);
  fill(config, format ?? formats[0]);
  return true;
}

/** Only the platform counts, which a file shows where the configuration has none. */
function recogniseByPlatform(config: ModelConfig, { name, formats }: KnownBackend, entries: VersionEntries): boolean {
  const { default_model_filename: file } = config;
  if (config.platform === '' && (config.backend === '' || config.backend === name)) {
    const format = file === '' ? findFormat(formats, entries) : formats.find(({ fileName }) => fileName === file);
    config.platform = format?.platform ?? '';
  }
  const format = formats.find(({ platform }) => platform === config.platform);
  if (format === undefined) return false;
  config.backend ||= name;
  fill(config, format);
  return true;
}

function hasPlatform({ platform, platformAliases = [] }: ModelFormat, wanted: string): boolean {
  return wanted !== '' && (platform === wanted || platformAliases.includes(wanted));
}

function findFormat(formats: readonly ModelFormat[], entries: VersionEntries): ModelFormat | undefined {
  return formats.find(({ fileName, entry }) => {
    const kind = entries.kindOf(fileName);
    return kind !== undefined && (entry === undefined || kind === entry);
  });
}

function fill(config: ModelConfig, format: ModelFormat | undefined): void {
  config.platform ||= format?.platform ?? '';
  config.default_model_filename ||= format?.fileName ?? '';
}

/** A backend that nobody knows: the name of the directory ends with it. */
function custom(config: ModelConfig, directoryName: string): void {
  if (config.backend !== '' || config.platform !== '' || config.default_model_filename !== '') return;
  const dot = directoryName.indexOf('.');
  if (dot < 0) {
    throw invalidArg(
      `Invalid model name: Could not determine backend for model '${config.name}' with no backend in model configuration. Expected model name of the form 'model.<backend_name>'.`,
    );
  }
  config.backend = directoryName.slice(dot + 1);
  config.default_model_filename = `model.${config.backend}`;
}
