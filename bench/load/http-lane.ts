import { connect, type Socket } from 'node:net';

/** Receives the time at which a response is complete. Throws to end the run. */
export type OnAnswer = () => void;

/**
 * One keep-alive HTTP connection with one prepared request on it at a time. It reads no more of a response than it
 * must (status, Content-Length), so that the generator costs little beside the server under test.
 */
export class HttpLane {
  readonly #request: Buffer;
  readonly #onAnswer: OnAnswer;
  #socket: Socket | undefined;
  #head: Buffer | undefined;
  /** Bytes of the body that are still to come; -1 while in the head. */
  #missing = -1;

  constructor(request: Buffer, onAnswer: OnAnswer) {
    this.#request = request;
    this.#onAnswer = onAnswer;
  }

  /** Connects to 127.0.0.1:port. */
  async open(port: number): Promise<void> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket = socket;
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    socket.on('data', (chunk) => this.#read(chunk));
  }

  /** Sends the request once more. */
  send(): void {
    this.#socket?.write(this.#request);
  }

  /** Ends the connection. */
  close(): void {
    this.#socket?.destroy();
  }

  #read(chunk: Buffer): void {
    if (this.#missing < 0) {
      const data = this.#head === undefined ? chunk : Buffer.concat([this.#head, chunk]);
      const end = data.indexOf('\r\n\r\n');
      if (end < 0) {
        this.#head = data;
        return;
      }
      this.#head = undefined;
      const head = data.toString('latin1', 0, end).toLowerCase();
      if (!head.startsWith('http/1.1 200')) throw new Error(`the server answered: ${data.toString('utf8', 0, 2000)}`);
      const length = /\r\ncontent-length: *(\d+)/.exec(head)?.[1];
      if (length === undefined) throw new Error(`no Content-Length in the response: ${head}`);
      this.#missing = Number(length) - (data.length - end - 4);
    } else {
      this.#missing -= chunk.length;
    }
    if (this.#missing <= 0) {
      this.#missing = -1;
      this.#onAnswer();
    }
  }
}

/** A complete HTTP request. */
export function httpRequest(path: string, headers: Record<string, string>, body: Uint8Array): Buffer {
  const lines = Object.entries({ Host: 'localhost', ...headers, 'Content-Length': String(body.length) });
  const head = `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), body]);
}
