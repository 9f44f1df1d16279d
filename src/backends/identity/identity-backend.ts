/**
 * The built-in `identity` backend: copies INPUT<n> to OUTPUT<n>, any datatype, strings of any bytes (which ONNX Runtime
 * cuts at NUL). A model needs a configuration and a version directory, no model file.
 */
import { nowNs } from '../../base/clock.js';
import { TritonError } from '../../base/error.js';
import type {
  Backend,
  BackendInstance,
  BackendModel,
  ExecutionRequest,
  ExecutionTimes,
  InstanceSpec,
  ModelLocation,
} from '../../contract/backend.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import type { Tensor } from '../../protocol/tensor.js';

/** The backend, as the registry finds it. */
export const backend: Backend = {
  async load(location: ModelLocation, config: ModelConfig): Promise<BackendModel> {
    const sources = sourcesOf(location.name, config);
    return {
      createInstance: async (spec: InstanceSpec) => new IdentityInstance(spec.name, sources),
      unload: async () => {},
    };
  },
};

/** Input of each output: OUTPUT7 copies INPUT7; with one input and one output the names do not matter. */
function sourcesOf(model: string, config: ModelConfig): ReadonlyMap<string, string> {
  const sources = new Map<string, string>();
  for (const output of config.output) {
    const pair = config.input.length === 1 && config.output.length === 1;
    const name = pair ? config.input[0]!.name : output.name.replace(/^OUTPUT/, 'INPUT');
    const input = config.input.find((candidate) => candidate.name === name);
    if (input === undefined) {
      throw new TritonError('INVALID_ARG', `model '${model}' has no input '${name}' for its output '${output.name}'`);
    }
    if (input.data_type !== output.data_type) {
      throw new TritonError(
        'INVALID_ARG',
        `model '${model}': input '${name}' and output '${output.name}' must have the same data type`,
      );
    }
    sources.set(output.name, name);
  }
  return sources;
}

class IdentityInstance implements BackendInstance {
  readonly concurrency = 1;

  constructor(
    readonly name: string,
    readonly sources: ReadonlyMap<string, string>,
  ) {}

  execute(batch: readonly ExecutionRequest[]): ExecutionTimes {
    const computeStart = nowNs();
    for (const request of batch) {
      const outputs: Tensor[] = [];
      for (const name of request.requestedOutputs) {
        const source = this.sources.get(name);
        const input = request.inputs.find((candidate) => candidate.name === source);
        if (input !== undefined) outputs.push({ ...input, name });
      }
      request.respond({ outputs }, true);
    }
    const computeEnd = nowNs();
    return { computeStart, inputEnd: computeStart, outputStart: computeEnd, computeEnd };
  }

  async close(): Promise<void> {}
}
