import { replyHead } from '../../../src/transport/http1/reply-head.js';
import { serveHttp1 } from '../../../src/transport/http1/serve-http1.js';
import { type Operation, Peer } from './peer.js';

const CONNECTION = { version: '1.1', keepAlive: true } as const;

/** A connection of HTTP/1.1 whose server sends back what it gets. */
export class Http1Peer extends Peer {
  constructor(id: number) {
    super(id);
    serveHttp1(
      this.socket,
      (request, reply) => {
        const fields = [['X-Id', String(id)]] as const;
        if (request.path === '/chunked') {
          const body = reply.startChunked(200, fields);
          body.write(request.body);
          body.write(request.body);
          body.end();
        } else if (request.path === '/later') this.hold(() => reply.send(200, fields, request.body));
        else reply.send(request.path === '/error' ? 400 : 200, fields, request.body);
      },
      {},
    );
  }

  do(operation: Operation): void {
    const body = this.own(operation === 'large' ? 40_000 : 100 + (this.id % 50));
    this.socket.push(Buffer.from(`POST /${operation} HTTP/1.1\r\nContent-Length: ${body.length}\r\n\r\n${body}`));
    const fields = [['X-Id', String(this.id)]] as const;
    const respond = () => {
      if (operation === 'chunked') {
        const chunk = `${body.length.toString(16)}\r\n${body}\r\n`;
        this.expect(Buffer.from(`${replyHead(200, fields, 'chunked', CONNECTION)}${chunk}${chunk}0\r\n\r\n`));
      } else {
        const head = replyHead(operation === 'error' ? 400 : 200, fields, { length: body.length }, CONNECTION);
        this.expect(Buffer.from(head + body));
      }
    };
    respond();
  }
}
