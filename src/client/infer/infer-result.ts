import type { Parameters, Tensor } from '../../protocol/tensor.js';
import type { InferResult } from '../api/client.js';

/** The outcome of an inference on the client side. */
export class DecodedInferResult implements InferResult {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: Parameters;
  readonly outputs: readonly Tensor[];

  constructor(result: Omit<InferResult, 'output'>) {
    this.modelName = result.modelName;
    this.modelVersion = result.modelVersion;
    this.id = result.id;
    this.parameters = result.parameters;
    this.outputs = result.outputs;
  }

  output(name: string): Tensor | undefined {
    return this.outputs.find((output) => output.name === name);
  }
}
