/**
 * No connection gets a byte that belongs to another. Many connections of both protocols write into shared buffers; here
 * they are interleaved, and every byte that each of them sent is compared with what it should have sent.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { turn } from '../support/wire/memory-socket.js';
import { Http1Peer } from './own-bytes/http1-peer.js';
import { Http2Peer } from './own-bytes/http2-peer.js';
import type { Operation, Peer } from './own-bytes/peer.js';
import { fillStage } from './own-bytes/stage.js';

/** Offsets before the end of the shared buffer at which every operation is tried: beyond the largest head by far. */
const OFFSETS = 320;

const HTTP2: readonly Operation[] = [
  'ping',
  'settings',
  'small',
  'large',
  'error',
  'reset',
  'window',
  'later',
  'stop',
  'fault',
];
const HTTP1: readonly Operation[] = ['small', 'large', 'error', 'chunked', 'later'];

test('every frame and every head is its own at every offset of the roll-over', async () => {
  const all: Peer[] = [];
  for (let left = 0; left <= OFFSETS; left++) {
    for (const operation of HTTP2) {
      const peers = [new Http2Peer(all.length), new Http2Peer(all.length + 1), new Http1Peer(all.length + 2)];
      for (const peer of peers) peer.do('small');
      await turn();
      fillStage(left);
      for (const peer of peers) peer.do(HTTP1.includes(operation) || peer instanceof Http2Peer ? operation : 'small');
      await turn();
      for (const peer of peers) peer.release();
      await turn();
      for (const peer of peers) peer.check(`'${operation}', ${left} bytes before the end`);
      all.push(...peers);
    }
    for (const operation of HTTP1) {
      const peers = [new Http1Peer(all.length), new Http1Peer(all.length + 1)];
      fillStage(left);
      for (const peer of peers) peer.do(operation);
      await turn();
      for (const peer of peers) peer.release();
      await turn();
      for (const peer of peers) peer.check(`'${operation}', ${left} bytes before the end`);
      all.push(...peers);
    }
  }
  // Nothing that was handed over has changed since.
  for (const peer of all) {
    peer.check('at the end');
    peer.close();
  }
});

test('interleaved connections send nothing but their own bytes', async () => {
  const step = fc.record({
    peer: fc.nat({ max: 11 }),
    operation: fc.constantFrom<Operation>(...HTTP2.slice(0, -2), 'chunked'),
    turn: fc.boolean(),
    release: fc.boolean(),
    left: fc.option(fc.nat({ max: 400 }), { freq: 4 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 50, maxLength: 200 }), async (steps) => {
      const peers: Peer[] = Array.from({ length: 12 }, (_, i) => (i % 3 === 2 ? new Http1Peer(i) : new Http2Peer(i)));
      for (const { peer, operation, turn: turns, release, left } of steps) {
        const actor = peers[peer]!;
        if (left !== null) fillStage(left);
        if (release) {
          await turn();
          for (const each of peers) each.release();
        }
        const known = actor instanceof Http2Peer ? HTTP2 : HTTP1;
        actor.do(known.includes(operation) ? operation : 'small');
        if (turns) await turn();
      }
      do {
        await turn();
        for (const peer of peers) peer.release();
      } while (peers.some(({ holds }) => holds));
      await turn();
      for (const peer of peers) if (peer instanceof Http2Peer) peer.do(peer.id % 2 === 0 ? 'stop' : 'fault');
      await turn();
      for (const [i, peer] of peers.entries()) peer.check(`connection ${i}`);
      for (const peer of peers) peer.close();
    }),
    { seed: 20_260_701, numRuns: Number(process.env['FUZZ_RUNS'] ?? 60) },
  );
});

test('the check finds a byte that is not its own', async () => {
  const peer = new Http2Peer(1);
  peer.do('ping');
  await turn();
  peer.check('untouched');
  peer.spoil();
  assert.throws(() => peer.check('spoiled'), /spoiled: byte \d+ of what connection 1 sent is 0x/);
  peer.close();
});
