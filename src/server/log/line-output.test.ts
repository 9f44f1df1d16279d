import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LineOutput, LOG_QUEUE_BYTES } from './line-output.js';

/** A destination that takes what the test lets it take. */
class Gate {
  text = '';
  /** Bytes that it takes before it is full; or the code of an error. */
  state: number | string = Number.POSITIVE_INFINITY;

  readonly write = (bytes: Uint8Array): number => {
    if (typeof this.state === 'string') throw Object.assign(new Error(this.state), { code: this.state });
    if (this.state === 0) throw Object.assign(new Error('full'), { code: 'EAGAIN' });
    const count = Math.min(bytes.length, this.state);
    this.state -= count;
    this.text += Buffer.from(bytes.subarray(0, count)).toString('latin1');
    return count;
  };
}

function make(): { gate: Gate; output: LineOutput } {
  const gate = new Gate();
  const output = new LineOutput(gate.write);
  output.lossLine = (count, why) => `lost ${count} ${why}\n`;
  return { gate, output };
}

test('a destination that takes pieces gets every line whole and in order', () => {
  for (let capacity = 1; capacity < 12; capacity++) {
    const { gate, output } = make();
    let expected = '';
    for (let i = 0; i < 20; i++) {
      gate.state = i % 3 === 0 ? capacity : 0;
      output.write(`line ${i}\n`);
      expected += `line ${i}\n`;
      assert.ok(expected.startsWith(gate.text));
    }
    gate.state = Number.POSITIVE_INFINITY;
    output.flush(1000);
    assert.equal(gate.text, expected);
    assert.equal(output.dropped, 0);
  }
});

test('a full destination makes lines wait up to a bound; the loss is reported where lines are missing', () => {
  const { gate, output } = make();
  gate.state = 3;
  output.write('begun\n');
  const line = `${'x'.repeat(1023)}\n`;
  const fit = Math.floor((LOG_QUEUE_BYTES - 3) / 1024);
  for (let i = 0; i < fit + 5; i++) output.write(line);
  assert.equal(output.dropped, 5);
  gate.state = Number.POSITIVE_INFINITY;
  output.flush(1000);
  assert.equal(gate.text, `begun\n${line.repeat(fit)}lost 5 EAGAIN\n`);
  output.write('after\n');
  assert.ok(gate.text.endsWith('lost 5 EAGAIN\nafter\n'));
});

test('a full disk keeps lines until it takes them again', async () => {
  const { gate, output } = make();
  gate.state = 'ENOSPC';
  for (let i = 0; i < 3; i++) output.write(`line ${i}\n`);
  gate.state = Number.POSITIVE_INFINITY;
  output.write('line 3\n');
  output.flush(1000);
  assert.equal(gate.text, 'line 0\nline 1\nline 2\nline 3\n');
});

test('a reader that is gone costs every line, until another one is there', async () => {
  const { gate, output } = make();
  gate.state = 'EPIPE';
  for (let i = 0; i < 3; i++) output.write(`line ${i}\n`);
  assert.equal(output.dropped, 3);
  gate.state = Number.POSITIVE_INFINITY;
  output.write('too early to try again\n');
  await new Promise((resolve) => setTimeout(resolve, 1200));
  output.write('new\n');
  assert.equal(gate.text, 'lost 4 EPIPE\nnew\n');
});

test('at the end what waits is written for a limited time, then given up', () => {
  const { gate, output } = make();
  gate.state = 0;
  output.write('never\n');
  const start = performance.now();
  output.flush(50);
  assert.ok(performance.now() - start < 5000);
  assert.equal(output.dropped, 1);
});
