import type { GrpcCall, Release } from '../../../transport/grpc/grpc-api.js';
import type { CallClient } from '../../infer/inference-call.js';
import type { Cancellation } from './cancellation.js';

/**
 * The client of an inference call over gRPC. The tensors are views on the message: its memory is held until the last
 * response, also when the client has gone before.
 */
export class GrpcCallClient implements CallClient {
  readonly message: Uint8Array;
  readonly #call: GrpcCall;
  readonly #release: Release;
  readonly #cancellation: Cancellation | undefined;

  /** To be made while the message is being handed over. `cancellation`: absent where the call is not told of it. */
  constructor(call: GrpcCall, message: Uint8Array, cancellation?: Cancellation) {
    this.message = message;
    this.#call = call;
    this.#cancellation = cancellation;
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
    const cancellation = this.#cancellation;
    if (cancellation !== undefined) this.#call.onCancel(() => cancellation.receive('ISSUED', listener));
  }

  release(): void {
    this.#release();
  }
}
