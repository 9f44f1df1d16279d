import { connect, type Socket } from 'node:net';
import { decodeHttpInferResponse, encodeHttpInferRequest } from '../../../src/client/infer/http-codec.js';
import type { Ask, Connection, Counts, Events } from './ask.js';

/** HTTP/1.1: requests behind one another on a connection, as many as the caller likes; responses come in their order. */
export class HttpConnection implements Connection {
  readonly waiting: Ask[] = [];
  #parts: Buffer[] = [];
  #have = 0;
  /** Bytes that the response has in all; 0 while its head is not complete. */
  #need = 0;

  private constructor(
    readonly socket: Socket,
    private readonly counts: Counts,
    private readonly events: Events,
  ) {
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', (error) => events.broken(error.message));
    socket.on('close', () => events.broken('the server closed the connection'));
  }

  static open(port: number, counts: Counts, events: Events): Promise<HttpConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new HttpConnection(socket, counts, events));
      });
    });
  }

  send(ask: Ask): void {
    const { json, call } = ask;
    const { chunks, byteLength, headerLength } = encodeHttpInferRequest(call, {
      binaryInputs: !json,
      binaryOutputs: !json,
    });
    const header = headerLength === undefined ? '' : `Inference-Header-Content-Length: ${headerLength}\r\n`;
    const head = `POST /v2/models/${call.modelName}/infer HTTP/1.1\r\nHost: soak\r\n${header}Content-Length: ${byteLength}\r\n\r\n`;
    this.waiting.push(ask);
    this.socket.write(Buffer.concat([Buffer.from(head), ...chunks]));
  }

  close(): void {
    this.socket.removeAllListeners('close');
    this.socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#parts.push(chunk);
    this.#have += chunk.length;
    while (this.#have > 0 && this.#have >= this.#need) {
      const bytes = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
      this.#parts = [bytes];
      const end = bytes.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = bytes.toString('latin1', 0, end);
      const bodyAt = end + 4;
      this.#need = bodyAt + Number(/\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      if (this.#have < this.#need) return;
      const rest = bytes.subarray(this.#need);
      this.#parts = rest.length === 0 ? [] : [rest];
      this.#have = rest.length;
      const body = bytes.subarray(bodyAt, this.#need);
      this.#need = 0;
      this.#response(head, body);
    }
  }

  #response(head: string, body: Buffer): void {
    const ask = this.waiting.shift();
    if (ask === undefined) {
      this.counts.twice('http', head);
      return;
    }
    if (!head.startsWith('HTTP/1.1 200'))
      this.counts.failed(ask, `${head.slice(0, 40)} ${body.toString().slice(0, 300)}`);
    else {
      const length = /\ninference-header-content-length: *(\d+)/i.exec(head)?.[1];
      this.counts.response(ask, decodeHttpInferResponse(body, length === undefined ? undefined : Number(length)));
    }
    this.events.done(ask);
  }
}
