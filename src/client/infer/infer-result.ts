import type { Parameters, Tensor } from '../../protocol/tensor.js';
import type { InferResult } from '../api/client.js';

/** The outcome of an inference on the client side. */
export class DecodedInferResult implements InferResult {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: Parameters;
  readonly outputs: readonly Tensor[];

  constructor(modelName: string, modelVersion: string, id: string, parameters: Parameters, outputs: readonly Tensor[]) {
    this.modelName = modelName;
    this.modelVersion = modelVersion;
    this.id = id;
    this.parameters = parameters;
    this.outputs = outputs;
  }

  output(name: string): Tensor | undefined {
    return this.outputs.find((output) => output.name === name);
  }
}
