import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Attack } from './attack.js';
import { writeModels } from './models.js';
import { Monitor } from './monitor.js';
import { runAttack } from './run-attack.js';
import { ServerUnderAttack } from './server-under-attack.js';

/** What must hold: more than `npm run attack` asks for, as the machine of a test run has other work that takes memory bandwidth and cores. */
const BOUNDS = { healthMs: 2000, residentMiB: 1024 };
const SECONDS = 0.4;

/** Tests: each attack for a moment, one after the other on one server, which then stops in good order. */
export function attackBriefly(name: string, attacks: readonly Attack[]): void {
  describe(`${name}: attacks`, { skip: process.platform !== 'linux' }, () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'triton-attack-'));
    let server: ServerUnderAttack;
    let monitor: Monitor;
    before(async () => {
      writeModels(path.join(folder, 'models'));
      server = await ServerUnderAttack.start(path.join(folder, 'models'));
      monitor = new Monitor(server);
    });
    after(async () => {
      await monitor.close();
      const seconds = await server.stop(40);
      rmSync(folder, { recursive: true, force: true });
      assert.equal(server.ended?.status, 0, server.output);
      assert.ok(seconds < 20, `the stop took ${seconds.toFixed(1)} s`);
    });
    for (const attack of attacks) {
      test(`${attack.name}: ${attack.about}`, async () => {
        const outcome = await runAttack(attack, server, monitor, SECONDS, BOUNDS);
        assert.deepEqual(outcome.faults, [], JSON.stringify(outcome));
      });
    }
  });
}
