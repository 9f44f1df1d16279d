import type { ModelMetrics } from '../engine-api.js';
import type { ModelRecord } from '../lifecycle/model-record.js';

/** The metrics of all versions of a model. */
export function modelMetrics(record: ModelRecord): ModelMetrics[] {
  return record.versions.flatMap(({ version, model, failures }) => {
    const { name, namespace } = record;
    const entry = { name, ...(namespace === '' ? {} : { namespace }), version, failures };
    if (model !== undefined) {
      const counted = model.statistics;
      return {
        ...entry,
        loaded: {
          config: model.config,
          success: counted.successCount,
          inferenceCount: counted.inferenceCount,
          executionCount: counted.executionCount,
          requestUs: counted.requestUs,
          queueUs: counted.queueUs,
          inputUs: counted.inputUs,
          inferUs: counted.inferUs,
          outputUs: counted.outputUs,
          cacheHitCount: counted.cacheHitCount,
          cacheHitUs: counted.cacheHitUs,
          cacheMissCount: counted.cacheMissCount,
          cacheMissUs: counted.cacheMissUs,
          pending: counted.pending,
          loadSeconds: counted.loadSeconds,
          summaries: counted.summaries,
          firstResponse: counted.firstResponse,
        },
      };
    }
    // A version that was never loaded has no series.
    const total = failures.REJECTED + failures.CANCELED + failures.BACKEND + failures.OTHER;
    return record.wasLoaded(version) || total > 0 ? entry : [];
  });
}
