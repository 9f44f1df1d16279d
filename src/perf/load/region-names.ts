/** Name of the region of an output: its name without slashes (infer_data_manager_shm.cc of perf_analyzer). */
export function outputRegion(output: string): string {
  return output.replace(/[/\\]/g, '');
}

/** Name of the region that holds the batch of an input that begins at a step of a stream. */
export function inputRegion(input: string, stream: number, step: number): string {
  return `${outputRegion(input)}_${stream}_${step}`;
}
