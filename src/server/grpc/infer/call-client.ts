import type { GrpcCall, Release } from '../../../transport/grpc/grpc-api.js';
import type { CallClient } from '../../infer/inference-call.js';

/**
 * The client of an inference call over gRPC. The tensors are views on the message: its memory is held until the last
 * response, also when the client has gone before.
 */
export class GrpcCallClient implements CallClient {
  readonly message: Uint8Array;
  readonly #call: GrpcCall;
  readonly #release: Release;

  /** To be made while the message is being handed over. */
  constructor(call: GrpcCall, message: Uint8Array) {
    this.message = message;
    this.#call = call;
    this.#release = call.retain();
  }

  header(name: string): string | undefined {
    return this.#call.metadata(name);
  }

  headers(): Iterable<readonly [name: string, value: string]> {
    return this.#call.metadataEntries();
  }

  handOver(bytes: number): void {
    this.#release(bytes);
  }

  onGone(listener: () => void): void {
    this.#call.onCancel(listener);
  }

  release(): void {
    this.#release();
  }
}
