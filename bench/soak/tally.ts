import type { Outcome } from './client.js';

/** What clients saw of one model. */
export interface Tally {
  sent: number;
  ok: number;
  /** Rows of the requests that succeeded. */
  rows: number;
  /** Answered `Request timeout expired`. */
  expired: number;
  /** Answered `Exceeds maximum queue size`: such a request counts nowhere at the server. */
  full: number;
  /** The client gave up: at the server it succeeded, expired or was dropped. */
  cancelled: number;
  /** Rows of the requests that were cancelled. */
  cancelledRows: number;
  /** Any other error, by its text. */
  readonly others: Map<string, number>;
}

/** Counts by model. */
export class Tallies {
  readonly #byModel = new Map<string, Tally>();

  of(model: string): Tally {
    let tally = this.#byModel.get(model);
    if (tally === undefined) {
      const others = new Map<string, number>();
      tally = { sent: 0, ok: 0, rows: 0, expired: 0, full: 0, cancelled: 0, cancelledRows: 0, others };
      this.#byModel.set(model, tally);
    }
    return tally;
  }

  get sent(): number {
    return [...this.#byModel.values()].reduce((sum, { sent }) => sum + sent, 0);
  }

  /** Waits for a request's outcome and counts it. */
  async count(model: string, rows: number, outcome: Promise<Outcome>): Promise<Outcome> {
    const tally = this.of(model);
    tally.sent++;
    const { ok, cancelled, text } = await outcome;
    if (ok) {
      tally.ok++;
      tally.rows += rows;
    } else if (cancelled) {
      tally.cancelled++;
      tally.cancelledRows += rows;
    } else if (text === 'Request timeout expired') tally.expired++;
    else if (text.endsWith('Exceeds maximum queue size')) tally.full++;
    else tally.others.set(text, (tally.others.get(text) ?? 0) + 1);
    return await outcome;
  }
}

interface ModelStats {
  readonly name: string;
  readonly inference_count: number;
  readonly execution_count: number;
  readonly inference_stats: Readonly<Record<'success' | 'fail', { readonly count: number }>>;
  readonly batch_stats: readonly { readonly batch_size: number; readonly compute_infer: { readonly count: number } }[];
}

/** Compares statistics and metrics with what the clients counted; returns what does not add up. */
export function differences(model: string, tally: Tally, statistics: string, metrics: string): string[] {
  const { model_stats: found } = JSON.parse(statistics) as { model_stats: ModelStats[] };
  const stats = found[0]!;
  const success = stats.inference_stats.success.count;
  const fail = stats.inference_stats.fail.count;
  const wrong: string[] = [];
  const expect = (what: string, got: number, wanted: number): void => {
    if (got !== wanted) wrong.push(`${model}: ${what} is ${got}, expected ${wanted}`);
  };
  const { sent, ok, rows, expired, full, cancelled, cancelledRows, others } = tally;
  for (const [text, count] of others) wrong.push(`${model}: ${count} unexpected responses: ${text}`);
  expect('answered', ok + expired + full + cancelled, sent);
  if (cancelled === 0) {
    expect('success', success, ok);
    expect('fail', fail, expired);
    expect('inference_count', stats.inference_count, rows);
  } else {
    // A call that its client cancels at once may never have been sent.
    const least = ok + expired;
    const known = success + fail >= least && success + fail <= least + cancelled;
    if (!known)
      wrong.push(`${model}: success and fail are ${success + fail}, expected ${least} and up to ${cancelled} more`);
    const between = stats.inference_count >= rows && stats.inference_count <= rows + cancelledRows;
    if (!between)
      wrong.push(
        `${model}: inference_count is ${stats.inference_count}, expected ${rows} and up to ${cancelledRows} more`,
      );
  }
  const batches = stats.batch_stats;
  if (batches.length > 0) {
    expect(
      'executions by batch size',
      batches.reduce((sum, b) => sum + b.compute_infer.count, 0),
      stats.execution_count,
    );
    // Rows between the sequences of a batch that have no request are executed too, but are not inferences.
    const rowsRun = batches.reduce((sum, b) => sum + b.batch_size * b.compute_infer.count, 0);
    if (rowsRun < stats.inference_count || model !== 'direct')
      expect('rows by batch size', rowsRun, stats.inference_count);
  }
  const metric = (family: string): number =>
    [...metrics.matchAll(new RegExp(`^${family}\\{model="${model}",[^}]*\\} (\\S+)$`, 'gm'))].reduce(
      (sum, [, value]) => sum + Number(value),
      0,
    );
  expect('nv_inference_request_success', metric('nv_inference_request_success'), success);
  expect('nv_inference_request_failure', metric('nv_inference_request_failure'), fail);
  expect('nv_inference_count', metric('nv_inference_count'), stats.inference_count);
  expect('nv_inference_exec_count', metric('nv_inference_exec_count'), stats.execution_count);
  expect('nv_inference_pending_request_count', metric('nv_inference_pending_request_count'), 0);
  return wrong;
}
