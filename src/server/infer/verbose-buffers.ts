import type { Log } from '../../base/log.js';
import type { VerboseFront } from '../../contract/request.js';
import { nextAddress } from '../../engine/request/request-log.js';
import type { Tensor } from '../../protocol/tensor.js';

/** How a front end words its records: about a buffer that is used, and one that is given back. */
const WORDS = {
  http: ['HTTP using buffer for:', 'HTTP release:'],
  grpc: ['GRPC: using buffer for', 'GRPC free:'],
} as const;

/** The verbose records about the buffers of a response's outputs. */
export class VerboseBuffers implements VerboseFront {
  readonly requestedVersion: string;
  readonly #log: Log;
  readonly #buffers: string[] = [];

  readonly #words: readonly [using: string, release: string];

  constructor(log: Log, front: keyof typeof WORDS, requestedVersion: string) {
    this.#log = log;
    this.#words = WORDS[front];
    this.requestedVersion = requestedVersion;
  }

  output({ name, data }: Tensor): void {
    const address = nextAddress();
    const [using, release] = this.#words;
    this.#log.verbose(1, `${using} '${name}', size: ${data.byteLength}, addr: 0x${address}`);
    this.#buffers.push(`${release} size ${data.byteLength}, addr 0x${address}`);
  }

  /** The response has gone out. */
  release(): void {
    for (const line of this.#buffers.splice(0)) this.#log.verbose(1, line);
  }
}
