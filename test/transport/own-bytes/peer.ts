import assert from 'node:assert/strict';
import { MemorySocket } from '../../support/wire/memory-socket.js';

/** What a peer makes its server send. */
export type Operation =
  | 'ping'
  | 'settings'
  /** Responses: copied into the shared buffer, handed over as they are, errors, in two chunks. */
  | 'small'
  | 'large'
  | 'error'
  | 'chunked'
  /** A response that leaves at `release`. */
  | 'later'
  /** RST_STREAM. */
  | 'reset'
  /** WINDOW_UPDATE. */
  | 'window'
  /** GOAWAY, with and without a fault of the peer; nothing follows. */
  | 'stop'
  | 'fault';

/** One connection, what its peer does, and what it must get for it. */
export abstract class Peer {
  readonly id: number;
  readonly socket = new MemorySocket();
  readonly #expected: Buffer[] = [];
  #held: (() => void)[] = [];
  #count = 0;

  constructor(id: number) {
    this.id = id;
  }

  /** The peer does this; what the server sends for it is known. */
  abstract do(operation: Operation): void;

  /** The responses that were put off leave, in their order. */
  release(): void {
    const held = this.#held;
    this.#held = [];
    for (const respond of held) respond();
  }

  /** Every byte that was sent is this connection's. */
  check(when: string): void {
    const expected = Buffer.concat(this.#expected);
    const { received } = this.socket;
    const at = received.findIndex((byte, i) => byte !== expected[i]);
    const about = `${when}: byte ${at} of what connection ${this.id} sent is`;
    assert.ok(at < 0, `${about} 0x${received[at]?.toString(16)} and should be 0x${expected[at]?.toString(16)}`);
    assert.equal(received.length, expected.length, `${when}: connection ${this.id} sent`);
  }

  /** Changes a byte, as another connection would. */
  spoil(): void {
    this.#expected[0]![0]! ^= 1;
  }

  close(): void {
    this.socket.destroy();
  }

  protected hold(respond: () => void): void {
    this.#held.push(respond);
  }

  /** Whether responses are put off. */
  get holds(): boolean {
    return this.#held.length > 0;
  }

  protected expect(bytes: Uint8Array): void {
    this.#expected.push(Buffer.from(bytes));
  }

  /** Text of that size that nobody else has. */
  protected own(size: number): string {
    const word = `<${this.id}.${this.#count++}>`;
    return word.repeat(Math.ceil(size / word.length)).slice(0, size);
  }
}
