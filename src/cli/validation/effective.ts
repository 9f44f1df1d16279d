/** The configurations that a server would serve with, beside what the user wrote. */
import { CATALOGUE } from '../../backends/catalogue.js';
import { configAdditions } from '../../modelconfig/complete/config-additions.js';
import { configToJson } from '../../modelconfig/json/config-json.js';
import { writePbtxt } from '../../modelconfig/pbtxt/write-pbtxt.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import type { ValidatedModel } from '../../tools/validate-model.js';
import type { ValidationReport } from '../../tools/validate-repository.js';
import { RawJson } from './raw-json.js';

/** One completed configuration. */
export interface EffectiveModel {
  readonly model: string;
  /** Where the user's configuration is, or would be. */
  readonly file: string;
  /** True when the user wrote none. */
  readonly generated: boolean;
  /** As the endpoint v2/models/<model>/config responds with it. */
  readonly config: RawJson;
  readonly added: readonly { readonly field: string; readonly reason: string }[];
}

/** The completed configuration of every model that a server would bring up. */
export function effectiveModels(report: ValidationReport): EffectiveModel[] {
  return completed(report).map(({ name, polled, config }) => ({
    model: name,
    file: polled.configPath,
    generated: !polled.configProvided,
    config: new RawJson(configToJson(config)),
    added: configAdditions(polled.given, config, CATALOGUE).map(({ path, reason }) => ({
      field: fieldText(path),
      reason,
    })),
  }));
}

/** The same as text: each configuration under a comment that names the model, with remarks on what was added. */
export function effectiveText(report: ValidationReport): string {
  return completed(report)
    .map((model) => `# ${heading(model)}\n${annotatedConfig(model)}\n`)
    .join('');
}

/** A completed configuration in the text format; what the user did not write carries a comment that says so. */
export function annotatedConfig({ polled, config }: { polled: ValidatedModel['polled']; config: ModelConfig }): string {
  const added = new Map(
    configAdditions(polled.given, config, CATALOGUE).map(({ path, reason }) => [path.join('\0'), reason]),
  );
  return writePbtxt(config, (path) => {
    // A list that is new as a whole is reported at each of its elements.
    const list = typeof path.at(-1) === 'number' ? added.get(path.slice(0, -1).join('\0')) : undefined;
    const reason = added.get(path.join('\0')) ?? list;
    return reason === undefined ? undefined : `added: ${reason}`;
  });
}

function heading({ name, polled }: ValidatedModel): string {
  return polled.configProvided ? `${name}: ${polled.configPath}, completed` : `${name}: no configuration of its own`;
}

type Completed = ValidatedModel & { readonly config: ModelConfig };

/** Models with faults are left out: what would be served is not known of them. */
function completed({ judged }: ValidationReport): Completed[] {
  return [...judged.values()].filter(
    (model): model is Completed =>
      model.config !== undefined && !model.findings.some(({ severity }) => severity === 'error'),
  );
}

/** `input[0].dims` */
function fieldText(path: readonly (string | number | bigint)[]): string {
  return path.reduce<string>(
    (text, part) => (typeof part === 'string' ? `${text}${text === '' ? '' : '.'}${part}` : `${text}[${part}]`),
    '',
  );
}
