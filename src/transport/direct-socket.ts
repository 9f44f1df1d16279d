import net from 'node:net';

/** Takes what a DirectSocket reads. */
export interface DirectReader {
  /** Memory that the next bytes shall be read into; undefined: anywhere. */
  readTarget(): Uint8Array | undefined;
  /** So many bytes were read into the target that was named last. */
  onTarget(count: number): void;
  /** Bytes that were read anywhere; they are the reader's. */
  onData(chunk: Buffer): void;
}

/** What is between a socket and the system; Node keeps it to itself. */
interface Handle {
  useUserBuffer?: unknown;
}

/** Size of one read without a target. */
const READ_SIZE = 64 * 1024;

/** Bytes without a target are read here and copied out at once; all sockets of the thread share it. */
const anywhere = Buffer.allocUnsafeSlow(READ_SIZE);

/**
 * A socket whose bytes go straight where its reader wants them. An ordinary socket makes a buffer of 64 KB for each read
 * and hands it through the machinery of streams; for a body of 4 MB that is 64 times, and each piece is copied once more.
 */
export class DirectSocket extends net.Socket {
  readonly #state: { reader: DirectReader | undefined };

  private constructor(handle: Handle) {
    const state: { reader: DirectReader | undefined } = { reader: undefined };
    let target: Uint8Array = anywhere;
    // While much comes, the socket has buffers of its own, which are handed over instead of copied.
    let bulk = false;
    let own: Buffer | undefined;
    const options = {
      handle,
      allowHalfOpen: true,
      onread: {
        buffer: () => {
          const wanted = state.reader?.readTarget();
          if (wanted !== undefined) target = wanted;
          else if (bulk) target = own ??= Buffer.allocUnsafeSlow(READ_SIZE);
          else target = anywhere;
          return target;
        },
        callback: (count: number) => {
          if (target === own) {
            state.reader?.onData(own.subarray(0, count));
            own = undefined;
            bulk = count > READ_SIZE / 2;
          } else if (target === anywhere) {
            const chunk = Buffer.allocUnsafe(count);
            anywhere.copy(chunk, 0, 0, count);
            bulk = count === READ_SIZE;
            state.reader?.onData(chunk);
          } else state.reader?.onTarget(count);
          return true;
        },
      },
    };
    super(options as net.SocketConstructorOpts);
    this.#state = state;
  }

  /**
   * Takes over the connection of a socket that has just been accepted and is not being read from (`pauseOnConnect`).
   * Undefined where this Node does not allow it: the socket is as it was.
   */
  static take(accepted: net.Socket): DirectSocket | undefined {
    const holder = accepted as unknown as { _handle: Handle | null };
    const handle = holder._handle;
    if (handle === null || typeof handle?.useUserBuffer !== 'function') return undefined;
    const direct = new DirectSocket(handle);
    holder._handle = null;
    // For the server the connection is over; whoever serves the new socket waits for it.
    accepted.destroy();
    return direct;
  }

  /** Who gets the bytes; to be set before the event loop turns. */
  set reader(reader: DirectReader) {
    this.#state.reader = reader;
  }
}
