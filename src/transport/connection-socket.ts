import type { Duplex } from 'node:stream';
import type { ByteBudget } from './byte-budget.js';
import { type DirectReader, DirectSocket } from './direct-socket.js';
import { Input } from './input.js';
import { SendAccount } from './send-account.js';
import { SocketWriter } from './socket-writer.js';

/** The state machine of a connection, as its socket sees it. */
export interface SocketUser extends DirectReader {
  /** The peer sends no more. */
  onEnd(): void;
  /** The system takes bytes again. */
  onDrain(): void;
  /** The socket is closed; what it held has been given back. */
  onClose(): void;
  /** One of these functions, or `readTarget`, `onTarget` or `onData`, threw: the connection has to end, and nothing else. */
  onThrown(error: unknown): void;
}

/**
 * The life of one connection's socket, the same for both versions of HTTP: what has come and is not read yet, what goes out, when
 * reading pauses, and the end. No exception of the state machine leaves it.
 */
export class ConnectionSocket {
  /** Resolves when the socket is closed. */
  readonly finished: Promise<void>;
  readonly input = new Input();
  readonly writer: SocketWriter;
  /** What waits to be sent, as part of what all connections may let wait. */
  readonly account: SendAccount;
  /** While bytes of the peer are worked on, what is to be sent is collected; it leaves at their end. */
  advancing = false;

  readonly #socket: Duplex;
  readonly #user: SocketUser;
  #paused = false;

  constructor(socket: Duplex, user: SocketUser, sendBudget: ByteBudget | undefined) {
    this.#socket = socket;
    this.#user = user;
    this.writer = new SocketWriter(socket);
    this.account = new SendAccount(sendBudget);
    this.finished = new Promise((resolve) => {
      socket.once('close', () => {
        this.#dropInput();
        this.account.close();
        this.contain(() => user.onClose());
        resolve();
      });
    });
    if (socket instanceof DirectSocket) socket.reader = user;
    else socket.on('data', (chunk: Buffer) => user.onData(chunk));
    socket.on('end', () => this.contain(() => user.onEnd()));
    socket.on('drain', () => this.contain(() => user.onDrain()));
    // What went wrong with a socket is of no interest: `close` follows, and the peer cannot be informed.
    socket.on('error', () => {});
  }

  /** Runs a part of the state machine. What it throws ends this connection only. */
  contain(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.advancing = false;
      this.#user.onThrown(error);
    }
  }

  /** Something was appended: it leaves at the end of the turn, unless bytes of the peer are being worked on. */
  wrote(): void {
    if (!this.advancing) this.writer.schedule();
  }

  /** Counts what waits to be sent. */
  count(): void {
    this.account.set(this.writer.backlog);
  }

  /** Says whether to read on: not while the peer leaves too much unread, or has sent too much ahead. */
  pauseReading(full: boolean): void {
    if (full === this.#paused) return;
    this.#paused = full;
    if (full) this.#socket.pause();
    else this.#socket.resume();
  }

  /** From now on what the peer sends is read and dropped by the state machine. */
  discard(): void {
    this.#dropInput();
    this.pauseReading(false);
  }

  #dropInput(): void {
    this.input.start = this.input.end;
    this.input.release();
  }
}
