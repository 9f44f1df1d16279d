/** Rules of the whole configuration. */

import type { KnownBackends } from '../../contract/backend-traits.js';
import { type Fault, Faults } from '../../contract/fault.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { ENSEMBLE_PLATFORM } from '../complete/normalize.js';

/** Rules 1 to 7: name, platform and backend, batch size, version policy. */
export function checkIdentity(config: ModelConfig, backends: KnownBackends, faults: Faults): void {
  const { name, platform, backend } = config;
  const platforms = platformsOf(backends.filter((known) => known.name === backend));
  if (name === '') faults.add('name-missing', ['name'], "model configuration must specify 'name'");
  if (backend === '' && platform !== ENSEMBLE_PLATFORM) {
    faults.add(
      'platform-unknown',
      ['platform'],
      `unexpected platform type '${platform}' for ${name}`,
      platformRemedy(platform, backends),
    );
  } else if (backend !== '' && platform === ENSEMBLE_PLATFORM) {
    faults.add(
      'ensemble-backend',
      ['backend'],
      `Ensemble model '${name}' must have platform type 'ensemble' and empty backend type`,
      "Remove 'backend'.",
    );
  } else if (platforms.length > 0 && !platforms.includes(platform)) {
    faults.add(
      'platform-backend-pair',
      ['platform'],
      `unexpected 'platform' and 'backend' pair, got:${platform}, ${backend}`,
      `Write platform ${platforms.map((text) => `"${text}"`).join(' or ')}, or leave 'platform' out.`,
    );
  }
  if (config.max_batch_size < 0) {
    faults.add(
      'max-batch-size-negative',
      ['max_batch_size'],
      `'max_batch_size' must be non-negative value for ${name}`,
      'Write 0 for a model that does not batch.',
    );
  }
  if (config.version_policy === undefined) {
    faults.add('version-policy-missing', ['version_policy'], `must specify 'version policy' for ${name}`);
  }
}

/**
 * Responses of a decoupled model are not cached. An ensemble is asked again once its members have made it decoupled or
 * not, whatever its configuration says.
 */
export function cacheFaults(config: ModelConfig): Fault[] {
  const faults = new Faults();
  if (config.model_transaction_policy?.decoupled && config.response_cache?.enable) {
    faults.add(
      'cache-decoupled',
      ['response_cache', 'enable'],
      `Response Cache does not currently support model ${config.name} with 'decoupled' transaction policy. Please disable the response cache.`,
      "Remove 'response_cache'.",
    );
  }
  return faults.list;
}

/** The response cache, the repository agents, and the label names of metrics: Triton ends at a wrong one. */
export function checkExtras(config: ModelConfig, faults: Faults): void {
  faults.list.push(...cacheFaults(config));
  checkMetrics(config, faults);
  for (const key of config.metric_tags.keys()) {
    if (!/^(?:[a-zA-Z_][a-zA-Z0-9_]*)?$/.test(key)) {
      faults.add(
        'metric-tag-name',
        ['metric_tags', key],
        `metric tag '${key}' is not a valid label name for ${config.name}`,
        'Use letters, digits and underscores only, and no digit in front.',
      );
    }
  }
}

function checkMetrics(config: ModelConfig, faults: Faults): void {
  for (const [i, control] of (config.model_metrics?.metric_control ?? []).entries()) {
    const path = ['model_metrics', 'metric_control', i];
    const add = (message: string) => faults.add('metric-control', path, message);
    if (control.metric_identifier === undefined) add("metric control must specify 'metric_identifier'");
    else if (control.metric_identifier.family === '') add("metric identifier must specify non-empty 'family'");
    else if (control.histogram_options === undefined) add("metric control must specify 'histogram_options'");
    else if (control.histogram_options.buckets.length === 0) add("histogram options must specify non-empty 'buckets'");
  }
}

function platformRemedy(platform: string, backends: KnownBackends): string {
  const isBackend = backends.some(({ name, formats }) => name === platform && formats.length > 0);
  if (isBackend) return `Write backend: "${platform}" instead of platform.`;
  return `Name the backend, e.g. backend: "onnxruntime", or a platform: ${platformsOf(backends).join(', ')}.`;
}

/** Values of `platform` that configurations of these backends may have. */
function platformsOf(backends: KnownBackends): string[] {
  return backends
    .flatMap(({ formats }) => formats.map(({ platform }) => platform))
    .filter((platform) => platform !== '');
}
