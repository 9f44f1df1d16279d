import { once } from 'node:events';
import type { Target } from './attack.js';
import { untilClosed, write } from './attack.js';

/** A request as bytes. */
export function httpRequest(
  path: string,
  body: Uint8Array | string,
  headers: Readonly<Record<string, string>> = {},
  method = 'POST',
): Buffer {
  const bytes = Buffer.from(body as string);
  const all = { Host: 'x', 'Content-Length': String(bytes.length), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), bytes]);
}

/** Sends one request on a connection of its own and waits until the server has answered or closed, or the attack is over. */
export async function oneRequest(target: Target, bytes: Uint8Array): Promise<void> {
  const socket = await target.connect(target.httpPort);
  target.sent();
  if (socket.destroyed) return;
  const answered = once(socket, 'data').catch(() => {});
  await write(target, socket, bytes);
  await Promise.race([answered, untilClosed(target, socket)]);
  socket.destroy();
}
