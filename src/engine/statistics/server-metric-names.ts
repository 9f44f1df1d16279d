/**
 * Metric families of the server itself. Models cannot have families of these names; a test compares the list with what the
 * metrics endpoint shows.
 */
const NAMES: ReadonlySet<string> = new Set([
  'nv_inference_request_success',
  'nv_inference_request_failure',
  'nv_inference_count',
  'nv_inference_exec_count',
  'nv_inference_pending_request_count',
  'nv_inference_request_duration_us',
  'nv_inference_queue_duration_us',
  'nv_inference_compute_input_duration_us',
  'nv_inference_compute_infer_duration_us',
  'nv_inference_compute_output_duration_us',
  'nv_inference_request_summary_us',
  'nv_inference_queue_summary_us',
  'nv_inference_compute_input_summary_us',
  'nv_inference_compute_infer_summary_us',
  'nv_inference_compute_output_summary_us',
  'nv_inference_first_response_histogram_ms',
  'nv_model_load_duration_secs',
  'nv_cache_num_hits_per_model',
  'nv_cache_hit_duration_per_model',
  'nv_cache_num_misses_per_model',
  'nv_cache_miss_duration_per_model',
  'nv_cache_hit_summary_per_model',
  'nv_cache_miss_summary_per_model',
  'nv_cache_util',
  'nv_cache_num_entries',
  'nv_cache_num_hits',
  'nv_cache_num_misses',
  'nv_cache_num_lookups',
  'nv_cache_num_evictions',
  'nv_cache_lookup_duration',
  'nv_cache_insertion_duration',
  'nv_pinned_memory_pool_total_bytes',
  'nv_pinned_memory_pool_used_bytes',
  'nv_cpu_utilization',
  'nv_cpu_memory_total_bytes',
  'nv_cpu_memory_used_bytes',
  'nv_gpu_utilization',
  'nv_gpu_memory_total_bytes',
  'nv_gpu_memory_used_bytes',
  'nv_gpu_power_usage',
  'nv_gpu_power_limit',
  'nv_energy_consumption',
  'nv_log_record_lost',
  'nv_request_memory_refused',
]);

/** True for a name that the server's own metrics have, with the endings of the samples of summaries and histograms too. */
export function isServerMetric(name: string): boolean {
  return NAMES.has(name) || NAMES.has(name.replace(/_(?:bucket|sum|count)$/, ''));
}
