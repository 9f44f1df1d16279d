/** Both sides of the connection to a model's process agree on its numbers: python/triton_runtime has the same as wire.ts. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ErrorCode } from '../../../base/error.js';
import { METRIC_KINDS } from '../../../contract/metrics.js';
import { DATATYPES } from '../../../protocol/datatype.js';
import * as wire from './wire.js';

const RUNTIME = path.resolve(import.meta.dirname, '../../../../../python/triton_runtime');

/** Constants of a module and of the classes in it: `A = 1`, `A, B = 1, 2` and `A = 1 << 30`. */
function constants(module: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const source = readFileSync(path.join(RUNTIME, `${module}.py`), 'utf8');
  for (const [, names = '', values = ''] of source.matchAll(/^(?: {4})?([A-Z][A-Z0-9_, ]*) = ([0-9<, ]+)$/gm)) {
    const numbers = values.split(',').map((text) => {
      const [base = 0, shift = 0] = text.split('<<').map(Number);
      return base * 2 ** shift;
    });
    for (const [i, name] of names.split(', ').entries()) found.set(name, numbers[i] ?? Number.NaN);
  }
  return found;
}

test('kinds of frames, types, outcomes and limits are the same on both sides', () => {
  const { ToModel, FromModel, Place, ParameterType, Outcome, ALIGNMENT, LONGEST_FRAME } = wire;
  const expected = { ...ToModel, ...FromModel, ...Place, ...ParameterType, ...Outcome, ALIGNMENT, LONGEST_FRAME };
  assert.deepEqual(
    Object.fromEntries([...constants('wire')].sort()),
    Object.fromEntries(Object.entries(expected).sort()),
  );
});

test('tensors travel in shared memory from the same size on, and have the same numbers of datatypes', () => {
  assert.equal(constants('memory').get('SHARED_FROM'), wire.SHARED_FROM);
  const datatypes = constants('datatypes');
  assert.equal(datatypes.get('BYTES'), DATATYPES.indexOf('BYTES') + 1);
  assert.equal(datatypes.get('BF16'), DATATYPES.indexOf('BF16') + 1);
});

test('error codes and kinds of metrics have the same numbers', () => {
  assert.deepEqual(Object.fromEntries(constants('errors')), { ...ErrorCode });
  assert.deepEqual(
    [...constants('metrics')],
    METRIC_KINDS.map((kind, i) => [kind.toUpperCase(), i]),
  );
});
