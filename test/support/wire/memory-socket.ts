import { Duplex } from 'node:stream';
import { after } from 'node:test';

/** Every socket of the test file: nobody else closes those that a test leaves open, and connections have timers. */
const sockets = new Set<MemorySocket>();

after(() => {
  for (const socket of sockets) socket.destroy();
});

/** The server's end of a connection without a network: what the peer sends is put in, what it gets is collected. */
export class MemorySocket extends Duplex {
  readonly #received: Buffer[] = [];

  constructor() {
    super({ allowHalfOpen: true });
    sockets.add(this);
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#received.push(chunk);
    done();
  }

  /** What the peer has got so far. */
  get received(): Buffer {
    return Buffer.concat(this.#received);
  }

  /** The peer sends, in pieces of at most `pieceSize` bytes; each is read before the next one comes. */
  async feed(bytes: Uint8Array, pieceSize = bytes.length): Promise<void> {
    for (let at = 0; at < bytes.length; at += pieceSize) {
      if (this.destroyed) return;
      // A copy: the server may keep views on what it reads.
      this.push(Buffer.from(bytes.subarray(at, at + pieceSize)));
      await turn();
    }
  }

  /** The peer sends two pieces, cut at an offset. */
  async feedCut(bytes: Uint8Array, at: number): Promise<void> {
    await this.feed(bytes.subarray(0, at));
    await this.feed(bytes.subarray(at));
  }

  /** The peer closes its side. */
  async feedEnd(): Promise<void> {
    this.push(null);
    await turn();
  }
}

/** Lets everything that is due happen. */
export async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
}
