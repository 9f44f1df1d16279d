/** Figures of GPUs in what a metrics endpoint responds with (metrics_manager.cc of perf_analyzer). */

/** What is read, in the order of the reports. */
export const GPU_METRICS = [
  'nv_gpu_utilization',
  'nv_gpu_power_usage',
  'nv_gpu_memory_used_bytes',
  'nv_gpu_memory_total_bytes',
] as const;

/** One of them. */
export type GpuMetric = (typeof GPU_METRICS)[number];

/** Values by GPU (uuid) of one metric. */
export type GpuValues = ReadonlyMap<string, number>;

/** What one look at the endpoint showed. */
export type GpuPoll = Readonly<Record<GpuMetric, GpuValues>>;

/**
 * Reads the metrics that stand on a line of their own with the GPU as their only label and a plain decimal number. As in
 * perf_analyzer, what follows the decimal number is not looked at: 1.5e9 counts as 1.5.
 */
export function parseGpuMetrics(exposition: string): GpuPoll {
  const read = (metric: GpuMetric): GpuValues => {
    const lines = exposition.matchAll(new RegExp(`\\n${metric}\\{gpu_uuid="([^"]+)"\\} (\\d+(?:\\.\\d+)?)`, 'g'));
    return new Map([...lines].map(([, uuid = '', value]) => [uuid, Number(value)]));
  };
  return {
    nv_gpu_utilization: read('nv_gpu_utilization'),
    nv_gpu_power_usage: read('nv_gpu_power_usage'),
    nv_gpu_memory_used_bytes: read('nv_gpu_memory_used_bytes'),
    nv_gpu_memory_total_bytes: read('nv_gpu_memory_total_bytes'),
  };
}

/** Figures of a level by GPU, sorted by uuid: averages of utilization (0 to 1) and power, largest memory use, memory. */
export function mergePolls(polls: readonly GpuPoll[]): GpuPoll {
  const merge = (metric: GpuMetric, combine: (values: readonly number[]) => number): GpuValues => {
    const all = new Map<string, number[]>();
    for (const poll of polls) {
      for (const [uuid, value] of poll[metric]) {
        const values = all.get(uuid);
        if (values === undefined) all.set(uuid, [value]);
        else values.push(value);
      }
    }
    return new Map([...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([uuid, values]) => [uuid, combine(values)]));
  };
  const average = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    nv_gpu_utilization: merge('nv_gpu_utilization', average),
    nv_gpu_power_usage: merge('nv_gpu_power_usage', average),
    nv_gpu_memory_used_bytes: merge('nv_gpu_memory_used_bytes', (values) => Math.floor(Math.max(...values))),
    nv_gpu_memory_total_bytes: merge('nv_gpu_memory_total_bytes', (values) => Math.floor(values[0] as number)),
  };
}
