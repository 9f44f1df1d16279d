import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { HTTP2_DEFAULTS, type Http2Options } from './http2-options.js';
import { Keepalive } from './keepalive.js';

/** A connection whose clock the test sets, and what became of it. */
function connection(t: TestContext, options: Http2Options) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 1000;
  t.mock.method(performance, 'now', () => now);
  const owner = {
    streamCount: 1,
    answered: 0,
    events: [] as string[],
    sendKeepalivePing: () => owner.events.push('ping'),
    destroy: () => owner.events.push('destroyed'),
    retire: () => owner.events.push('asked to end'),
  };
  const keepalive = new Keepalive({ ...HTTP2_DEFAULTS, ...options }, owner);
  return {
    owner,
    keepalive,
    pass(ms: number): string[] {
      for (let i = 0; i < ms; i++) {
        now++;
        t.mock.timers.tick(1);
      }
      return owner.events.splice(0);
    },
  };
}

test('a silent peer is asked, and dropped when it does not answer', (t) => {
  const { keepalive, pass } = connection(t, { keepaliveTimeMs: 100, keepaliveTimeoutMs: 20 });
  assert.deepEqual(pass(99), []);
  keepalive.onRead();
  assert.deepEqual(pass(99), []);
  assert.deepEqual(pass(1), ['ping']);
  keepalive.onRead();
  assert.deepEqual(pass(99), []);
  assert.deepEqual(pass(1), ['ping']);
  assert.deepEqual(pass(19), []);
  assert.deepEqual(pass(1), ['destroyed']);
});

test('connections without calls are asked only where that is wanted', (t) => {
  const quiet = connection(t, { keepaliveTimeMs: 100, keepaliveTimeoutMs: 20 });
  quiet.owner.streamCount = 0;
  assert.deepEqual(quiet.pass(350), []);
  quiet.owner.streamCount = 1;
  assert.deepEqual(quiet.pass(50), ['ping']);
});

test('connections without calls are asked where that is wanted', (t) => {
  const { owner, pass } = connection(t, {
    keepaliveTimeMs: 100,
    keepaliveTimeoutMs: 20,
    keepaliveWithoutStreams: true,
  });
  owner.streamCount = 0;
  assert.deepEqual(pass(100), ['ping']);
});

test('no more pings in a row than allowed, until something was sent', (t) => {
  const { owner, keepalive, pass } = connection(t, {
    keepaliveTimeMs: 100,
    keepaliveTimeoutMs: 20,
    maxPingsWithoutData: 2,
  });
  const ask = (): string[] => {
    const events = pass(100);
    keepalive.onRead();
    return events;
  };
  assert.deepEqual([ask(), ask(), ask(), ask()], [['ping'], ['ping'], [], []]);
  owner.answered++;
  assert.deepEqual([ask(), ask(), ask()], [['ping'], ['ping'], []]);
});

test('any number of pings in a row where there is no limit', (t) => {
  const { keepalive, pass } = connection(t, { keepaliveTimeMs: 10, keepaliveTimeoutMs: 5, maxPingsWithoutData: 0 });
  for (let i = 0; i < 20; i++) {
    assert.deepEqual(pass(10), ['ping']);
    keepalive.onRead();
  }
});

test('pings of the peer: too early ones are strikes, responses forgive them', (t) => {
  const { owner, keepalive, pass } = connection(t, { keepaliveTimeMs: 0, minPingIntervalMs: 50, maxPingStrikes: 2 });
  const early = (): boolean => keepalive.onPing();
  assert.deepEqual([early(), early(), early()], [true, true, true]);
  assert.equal(early(), false);
  owner.answered++;
  assert.deepEqual([early(), early(), early(), early()], [true, true, true, false]);
  owner.answered++;
  for (let i = 0; i < 10; i++) {
    assert.equal(keepalive.onPing(), true);
    pass(50);
  }
});

test('pings of a peer without calls must keep two hours, unless such pings are allowed', (t) => {
  const { owner, keepalive, pass } = connection(t, { keepaliveTimeMs: 0, minPingIntervalMs: 1, maxPingStrikes: 1 });
  owner.streamCount = 0;
  assert.equal(keepalive.onPing(), true);
  pass(100);
  assert.equal(keepalive.onPing(), true);
  pass(100);
  assert.equal(keepalive.onPing(), false);
});

test('an old connection is asked to end, and cut when its calls take too long', (t) => {
  const { pass } = connection(t, { keepaliveTimeMs: 0, maxConnectionAgeMs: 100, maxConnectionAgeGraceMs: 30 });
  assert.deepEqual(pass(89), []);
  const events = pass(22);
  assert.deepEqual(events, ['asked to end']);
  assert.deepEqual(pass(30), ['destroyed']);
});
