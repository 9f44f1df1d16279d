import type { ModelMetrics } from '../../contract/engine.js';
import type { ModelRecord } from './model-record.js';

/** The metrics of all versions of a model. */
export function modelMetrics(record: ModelRecord): ModelMetrics[] {
  return record.versions.flatMap(({ version, model, counters }) => {
    const { failures } = counters;
    const { name, namespace } = record;
    const entry = { name, ...(namespace === '' ? {} : { namespace }), version, failures };
    if (model !== undefined) {
      const { series } = model.statistics;
      return {
        ...entry,
        loaded: { config: model.config, ...series },
      };
    }
    // A version that was never loaded has no series.
    const total = failures.REJECTED + failures.CANCELED + failures.BACKEND + failures.OTHER;
    return record.wasLoaded(version) || total > 0 ? entry : [];
  });
}
