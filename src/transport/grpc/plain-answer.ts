import type { Http2ServerStream, Http2StreamListener } from '../http2/http2-api.js';
import { Http2Error } from '../http2/protocol.js';
import { plainHeaders } from './response-headers.js';

const TEXT = Buffer.from('This port speaks gRPC: POST with content-type application/grpc.\n');

/** Answers a request that is not gRPC, once it is complete: 415, or 405 if it is not even a POST. */
export class PlainAnswer implements Http2StreamListener {
  readonly #stream: Http2ServerStream;
  readonly #status: number;
  #ended = false;

  constructor(stream: Http2ServerStream, method: string) {
    this.#stream = stream;
    this.#status = method === 'POST' ? 415 : 405;
  }

  onData(_bytes: Buffer, start: number, end: number): void {
    this.#stream.consumed(end - start);
  }

  get incomplete(): boolean {
    return !this.#ended;
  }

  onEnd(): void {
    this.#ended = true;
    this.#stream.sendHeaders(plainHeaders(this.#status, 'text/plain', TEXT.length), false);
    this.#stream.sendData([TEXT], TEXT.length);
    this.#stream.sendEnd();
  }

  onAbort(): void {}

  onWritable(): void {}

  onFinished(): void {}

  onStalled(): void {
    this.#stream.reset(Http2Error.CANCEL);
  }
}
