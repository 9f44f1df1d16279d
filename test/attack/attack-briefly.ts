import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { makeRepository } from '../support/repositories/make-repository.js';
import type { Attack } from './attack.js';
import { MODEL_FILES } from './models.js';
import { Monitor } from './monitor.js';
import { runAttack } from './run-attack.js';
import { ServerUnderAttack } from './server-under-attack.js';

/** What must hold: more than `npm run attack` asks for, as the machine of a test run has other work that takes memory bandwidth and cores. */
const BOUNDS = { healthMs: 2000, residentMiB: 1024 };
const SECONDS = 0.4;

/** Tests: each attack for a moment, one after the other on one server, which then stops in good order. */
export function attackBriefly(name: string, attacks: readonly Attack[]): void {
  describe(`${name}: attacks`, { skip: process.platform !== 'linux' }, () => {
    const repository = makeRepository(MODEL_FILES);
    let server: ServerUnderAttack;
    let monitor: Monitor;
    before(async () => {
      server = await ServerUnderAttack.start(repository.path);
      monitor = new Monitor(server);
    });
    after(async () => {
      await monitor.close();
      const seconds = await server.stop(40);
      repository.remove();
      assert.equal(server.ended?.status, 0, server.output);
      assert.ok(seconds < 20, `the stop took ${seconds.toFixed(1)} s`);
    });
    for (const attack of attacks) {
      test(`${attack.name}: ${attack.about}`, async () => {
        const outcome = await runAttack(attack, server, monitor, { seconds: SECONDS, bounds: BOUNDS });
        assert.deepEqual(outcome.faults, [], JSON.stringify(outcome));
      });
    }
  });
}
