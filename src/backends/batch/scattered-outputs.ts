import type { ExecutionRequest } from '../../contract/backend.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';

/** An output whose pieces take their shapes from an input of each request. */
export interface ScatteredOutput {
  /** The backend's side of the shape, with the batch dimension; -1 stands for the source's dimension of that index. */
  readonly dims: readonly number[];
  readonly source: string;
}

/** Outputs under BATCH_SCATTER_WITH_INPUT_SHAPE, by name. */
export function scatteredOutputs(config: ModelConfig): ReadonlyMap<string, ScatteredOutput> {
  const result = new Map<string, ScatteredOutput>();
  for (const { target_name: targets, source_input: sources } of config.batch_output) {
    for (const name of targets) {
      const output = config.output.find((candidate) => candidate.name === name);
      if (output === undefined || sources[0] === undefined) continue;
      const dims = (output.reshape?.shape ?? output.dims).map(Number);
      result.set(name, { dims: config.max_batch_size > 0 ? [-1, ...dims] : dims, source: sources[0] });
    }
  }
  return result;
}

/** Shape of one request's piece. */
export function pieceShape({ dims, source }: ScatteredOutput, request: ExecutionRequest): number[] {
  const from = request.inputs.find((input) => input.name === source)?.shape ?? [];
  return dims.map((dim, index) => (dim === -1 ? (from[index] ?? 1) : dim));
}
