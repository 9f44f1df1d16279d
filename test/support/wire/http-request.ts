import http from 'node:http';
import net from 'node:net';

/** A response over HTTP. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
  /** The body as JSON; undefined when it is not JSON. */
  readonly json: unknown;
}

/** Body and headers of a request. */
export interface HttpContent {
  readonly body?: string | Uint8Array | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** One request over a connection of its own; `content` is the body, or the body and headers. */
export function httpRequest(
  port: number,
  method: string,
  target: string,
  content: string | Uint8Array | HttpContent = {},
): Promise<HttpResponse> {
  const { body, headers = {} } =
    typeof content === 'string' || content instanceof Uint8Array ? { body: content } : content;
  return new Promise((resolve, reject) => {
    const request = http.request(
      { port, host: '127.0.0.1', method, path: target, headers, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const whole = Buffer.concat(chunks);
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: whole,
            text: whole.toString(),
            json: parse(whole.toString()),
          });
        });
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Sends bytes as they are and returns what comes until the server closes. */
export function rawExchange(port: number, bytes: string | Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = net.connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.setEncoding('latin1');
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('close', () => resolve(text));
    socket.on('error', reject);
  });
}
