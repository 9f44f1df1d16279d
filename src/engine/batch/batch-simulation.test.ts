/**
 * The dynamic batcher under random work on a virtual time: nothing is lost, doubled, reordered or starved, and every limit
 * holds. SIMULATED_REQUESTS=100000 runs the full length.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LabRequest, SchedulerLab } from '../../../test/support/engine/scheduler-lab.js';
import type { Task } from '../schedule/task.js';

const TOTAL = Number(process.env['SIMULATED_REQUESTS'] ?? 6000);
const ROUND = 250;
/** Timers have whole milliseconds, and a turn of the loop is no time but not nothing. */
const SLACK_MS = 2.5;

interface Settings {
  readonly max: number;
  readonly instances: number;
  readonly delayMs: number;
  readonly ordered: boolean;
  readonly levels: number;
  readonly queueSize: number;
  readonly timeoutMs: number;
  readonly override: boolean;
  readonly delays: boolean;
  readonly variable: boolean;
  readonly optional: boolean;
  readonly preferred: readonly number[];
}

interface Sent {
  readonly request: LabRequest;
  readonly at: number;
  readonly level: number;
  readonly order: number;
  task: Task | undefined;
  cancelledAt: number;
  startedAt: number;
}

type Random = () => number;

/** Numbers from 0 to 1 that are the same in every run. */
function generator(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function pick(random: Random, from: number, to: number): number {
  return from + Math.floor(random() * (to - from + 1));
}

function drawSettings(random: Random): Settings {
  const max = pick(random, 1, 16);
  const sizes = random() < 0.5 ? [] : Array.from({ length: pick(random, 1, 3) }, () => pick(random, 1, max));
  const ordered = random() < 0.3;
  const timeoutMs = random() < 0.4 ? pick(random, 2, 60) : 0;
  return {
    max,
    instances: pick(random, 1, 4),
    delayMs: random() < 0.5 ? pick(random, 1, 20) : 0,
    ordered,
    levels: !ordered && random() < 0.3 ? pick(random, 1, 4) : 0,
    queueSize: random() < 0.3 ? pick(random, 1, 20) : 0,
    timeoutMs,
    override: timeoutMs > 0 && random() < 0.5,
    delays: !ordered && timeoutMs > 0 && random() < 0.4,
    variable: random() < 0.3,
    optional: random() < 0.2,
    preferred: [...new Set(sizes)],
  };
}

function configOf(s: Settings): string {
  const policy =
    `max_queue_size: ${s.queueSize} default_timeout_microseconds: ${s.timeoutMs * 1000} ` +
    `allow_timeout_override: ${s.override} timeout_action: ${s.delays ? 'DELAY' : 'REJECT'}`;
  const usesPolicy = s.queueSize > 0 || s.timeoutMs > 0;
  const more = s.optional ? ', { name: "MORE" data_type: TYPE_INT32 dims: [-1] optional: true }' : '';
  return `max_batch_size: ${s.max}
    input [ { name: "IN" data_type: TYPE_INT32 dims: [${s.variable ? -1 : 1}] } ${more} ]
    dynamic_batching { preferred_batch_size: [${s.preferred.join()}] max_queue_delay_microseconds: ${s.delayMs * 1000}
      preserve_ordering: ${s.ordered} ${s.levels > 0 ? `priority_levels: ${s.levels} default_priority_level: 1` : ''}
      ${usesPolicy ? `default_queue_policy { ${policy} }` : ''} }`;
}

function drawRequest(random: Random, s: Settings): LabRequest {
  return {
    rows: pick(random, 1, random() < 0.7 ? 1 : s.max),
    width: s.variable && random() < 0.2 ? 2 : 1,
    more: s.optional && random() < 0.3,
    ms: pick(random, 0, 30),
    fails: random() < 0.02,
    priority: BigInt(random() < 0.2 ? 0 : pick(random, 0, 5)),
    timeoutMicroseconds: random() < 0.3 ? BigInt(pick(random, 500, 40_000)) : 0n,
  };
}

/** One configuration with ROUND requests; throws at the first broken promise. */
async function simulate(seed: number): Promise<void> {
  const random = generator(seed);
  const settings = drawSettings(random);
  const lab = new SchedulerLab(configOf(settings), settings.instances);
  const sent = new Map<string, Sent>();
  let at = 1;
  for (let order = 0; order < ROUND; order++) {
    if (random() < 0.4) at += random() * (random() < 0.1 ? 100 : 8);
    const request = drawRequest(random, settings);
    const asked = Number(request.priority);
    const level = settings.levels === 0 ? 0 : asked === 0 || asked > settings.levels ? 1 : asked;
    const cancelAfter = random() < 0.1 ? random() * 40 : -1;
    lab.at(at, () => {
      const entry: Sent = {
        request,
        at: lab.now,
        level,
        order,
        task: undefined,
        cancelledAt: Number.POSITIVE_INFINITY,
        startedAt: Number.NaN,
      };
      sent.set(`${order}`, entry);
      const waiting = [...sent].filter(
        ([id, other]) => other.level === level && other.task?.finished === false && !lab.begun.has(id),
      );
      entry.task = lab.send(`${order}`, request);
      const full = settings.queueSize > 0 && waiting.length >= settings.queueSize;
      assert.equal(entry.task === undefined, full, `${waiting.length} wait, ${settings.queueSize} may`);
      if (cancelAfter < 0 || entry.task === undefined) return;
      lab.at(lab.now + cancelAfter, () => {
        entry.cancelledAt = lab.now;
        entry.task!.cancel();
      });
    });
  }
  const removed = random() < 0.3 ? changeInstances(lab, random, at) : [];
  const waits = watchIdleInstances(lab, settings, sent, at);
  await lab.clock.run();

  for (const execution of lab.executions) for (const id of execution.ids) sent.get(id)!.startedAt = execution.start;
  checkAnswers(lab, settings, sent);
  checkBatches(lab, settings, sent);
  checkOrder(lab, settings, sent);
  assert.deepEqual(waits, [], 'a request waited beside an idle instance');
  for (const { name, since } of removed) {
    const late = lab.executions.find(({ instance, start }) => instance === name && start > since);
    assert.equal(late, undefined, `${name} was given a batch after it was taken out`);
  }
}

/** Takes instances out and adds others while requests come. */
function changeInstances(lab: SchedulerLab, random: Random, end: number): { name: string; since: number }[] {
  const removed: { name: string; since: number }[] = [];
  for (let change = 0; change < 3; change++) {
    lab.at(random() * end, () => {
      const { runners } = lab;
      runners.push(lab.makeRunner(`m_new_${change}`));
      if (random() < 0.7) runners.shift();
      lab.scheduler.setRunners!([...runners], ({ instance }) => removed.push({ name: instance.name, since: lab.now }));
    });
  }
  return removed;
}

/** Looks often whether a request waits although an instance is idle and its delay is over. */
function watchIdleInstances(lab: SchedulerLab, { delayMs }: Settings, sent: Map<string, Sent>, end: number): string[] {
  const found: string[] = [];
  for (let ms = 0; ms < end + 200; ms += 3.7) {
    lab.at(ms, () => {
      if (!lab.runners.some((runner) => runner.idle)) return;
      for (const [id, { at, task }] of sent) {
        if (task === undefined || task.finished || lab.begun.has(id)) continue;
        if (lab.now - at > delayMs + SLACK_MS) found.push(`${id} at ${lab.now}`);
      }
    });
  }
  return found;
}

/** Every request has one response, of the right kind and in time, and the statistics say the same. */
function checkAnswers(lab: SchedulerLab, s: Settings, sent: Map<string, Sent>): void {
  assert.equal(lab.answers.length, ROUND, 'every request is answered once');
  assert.equal(new Set(lab.answers.map(({ id }) => id)).size, ROUND);
  const counts = { ok: 0, BACKEND: 0, REJECTED: 0, CANCELED: 0, OTHER: 0 };
  for (const { id, at, code, text } of lab.answers) {
    const { request, startedAt, at: arrival, cancelledAt, task } = sent.get(id)!;
    const ran = !Number.isNaN(startedAt);
    if (task === undefined) {
      assert.ok(s.queueSize > 0 && text.endsWith('Exceeds maximum queue size') && !ran, text);
    } else if (text === 'Request timeout expired') {
      counts.REJECTED++;
      assert.ok(!ran && s.timeoutMs > 0 && !s.delays);
      const late = at - arrival - timeoutOf(s, request);
      assert.ok(late > 0 && late < SLACK_MS, `${id} was refused ${late} ms after its deadline`);
    } else if (code === 'CANCELLED') {
      counts.CANCELED++;
      assert.ok(!ran && at >= cancelledAt && text === '');
    } else {
      assert.ok(ran, `${id}: ${text}`);
      counts[code === undefined ? 'ok' : 'BACKEND']++;
      const ahead = s.levels === 0 && s.queueSize === 0 && s.timeoutMs === 0;
      if (!ahead) assert.ok(startedAt < cancelledAt + SLACK_MS, `${id} ran after it was cancelled`);
      const limit = timeoutOf(s, request);
      if (limit > 0 && !s.delays) assert.ok(startedAt - arrival < limit + SLACK_MS, `${id} ran after its deadline`);
    }
  }
  const { successCount, failCount, failures, executionCount } = lab.statistics;
  const { pending } = lab.statistics.series;
  assert.deepEqual({ ok: successCount, ...failures }, counts);
  assert.equal(failCount, counts.BACKEND + counts.REJECTED + counts.CANCELED);
  assert.equal(pending, 0);
  const worked = lab.executions.filter(({ ids }) => !ids.some((id) => sent.get(id)!.request.fails));
  assert.equal(executionCount, worked.length);
}

function timeoutOf({ timeoutMs, override }: Settings, { timeoutMicroseconds = 0n }: LabRequest): number {
  const asked = Number(timeoutMicroseconds) / 1000;
  return override && asked > 0 && asked < timeoutMs ? asked : timeoutMs;
}

/** No batch is too large, none mixes what may not be mixed, nothing runs twice, no instance runs two at once. */
function checkBatches(lab: SchedulerLab, { max }: Settings, sent: Map<string, Sent>): void {
  const ran = lab.executions.flatMap(({ ids }) => ids);
  assert.equal(new Set(ran).size, ran.length, 'nothing is executed twice');
  const busyUntil = new Map<string, number>();
  for (const { instance, ids, rows, start, end } of lab.executions) {
    assert.ok(rows <= max, `${rows} rows of at most ${max}`);
    const kinds = new Set(ids.map((id) => `${sent.get(id)!.request.width} ${sent.get(id)!.request.more}`));
    assert.equal(kinds.size, 1, `unequal inputs share a batch: ${ids}`);
    assert.ok(start >= (busyUntil.get(instance) ?? 0), `${instance} runs two batches at once`);
    busyUntil.set(instance, end);
  }
}

/** Equal priority: first come, first executed. Higher levels first. With preserve_ordering the responses keep the order. */
function checkOrder(lab: SchedulerLab, s: Settings, sent: Map<string, Sent>): void {
  const started = lab.executions.flatMap(({ ids, start }) => ids.map((id) => ({ start, ...sent.get(id)! })));
  if (!s.delays) {
    const last = new Map<number, number>();
    for (const { level, order } of started) {
      assert.ok(order > (last.get(level) ?? -1), `${order} is executed behind ${last.get(level)}`);
      last.set(level, order);
    }
    // Work that came before a batch was begun, of a higher level than something in it, was taken with it or before.
    for (const { ids, start } of s.levels > 0 ? lab.executions : []) {
      const lowest = Math.max(...ids.map((id) => sent.get(id)!.level));
      for (const other of started) {
        if (other.level >= lowest || other.at > start - 0.1) continue;
        assert.ok(other.start <= start, `${other.order} of level ${other.level} was passed by a batch of ${lowest}`);
      }
    }
  }
  if (!s.ordered) return;
  const done = lab.answers.filter(({ id }) => !Number.isNaN(sent.get(id)!.startedAt)).map(({ id }) => Number(id));
  assert.deepEqual(
    done,
    [...done].sort((a, b) => a - b),
    'answers leave in the order of the requests',
  );
}

test(`${TOTAL} random requests in random configurations`, async () => {
  for (let seed = 1; seed <= TOTAL / ROUND; seed++) {
    try {
      await simulate(seed);
    } catch (reason) {
      throw new Error(`seed ${seed}: ${JSON.stringify(drawSettings(generator(seed)))}`, { cause: reason });
    }
  }
});
