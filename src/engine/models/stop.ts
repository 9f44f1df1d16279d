import { TritonError } from '../../base/error.js';
import type { Log } from '../../base/log.js';
import type { ModelManager } from './model-manager.js';
import { endHung } from './version/end-hung.js';
import type { LoadedModel } from './version/loaded-model.js';

/** What stopping needs. */
export interface StopContext {
  readonly graceMs: number;
  readonly log: Log;
  models(): readonly LoadedModel[];
  readonly manager: ModelManager | undefined;
  /** Load and unload calls on their way. */
  managementCalls(): number;
}

/** How often the state is looked at, in ms; lines are logged once a second. */
const LOOK_MS = 20;

/**
 * Ends all models in an orderly manner with Triton's log lines. Rejects with INTERNAL
 * when the grace time is over.
 */
export async function stopEngine(context: StopContext): Promise<void> {
  const { log, manager } = context;
  if (manager === undefined) {
    log.info('No server context available. Exiting immediately.');
    return;
  }
  const countdown = new Countdown(context.graceMs);
  log.info('Waiting for in-flight requests to complete.');
  const models = context.models();
  for (const { scheduler } of models) scheduler.stop();
  manager.cancelLoads();
  // Requests whose clients are gone are worth no waiting.
  const stopWatch = endHung(() => models.flatMap((model) => [...model.runningInstances()]), 0, log);
  try {
    await countdown.until(() => {
      const busy = models.filter((model) => model.scheduler.inFlight > 0);
      return {
        done: busy.length === 0,
        lines: [
          `Timeout ${countdown.seconds}: Found ${busy.length} model versions that have in-flight inferences`,
          ...busy.map(
            ({ name, version, scheduler }) =>
              `Model '${name}' (version ${version}) has ${scheduler.inFlight} in-flight inferences`,
          ),
        ],
      };
    }, log);
  } finally {
    stopWatch();
  }
  log.info('All models are stopped, unloading models');
  const unloading = manager.unloadAll();
  // What goes wrong is thrown by the `await` at the end, which may not be reached for a while, or at all.
  unloading.catch(() => {});
  await countdown.until(() => {
    const live = manager.liveVersions;
    const calls = context.managementCalls();
    return {
      done: live === 0 && calls === 0,
      lines: [`Timeout ${countdown.seconds}: Found ${live} live models and ${calls} in-flight non-inference requests`],
    };
  }, log);
  await unloading;
}

/** One countdown for all phases. */
class Countdown {
  readonly #end: number;

  constructor(graceMs: number) {
    this.#end = performance.now() + graceMs;
  }

  /** Whole seconds left. */
  get seconds(): number {
    return Math.max(0, Math.ceil((this.#end - performance.now()) / 1000));
  }

  /** Looks until done; logs the lines at first, each second, and at last if the wait was announced. */
  async until(look: () => { done: boolean; lines: readonly string[] }, log: Log): Promise<void> {
    let announced = Number.NEGATIVE_INFINITY;
    for (;;) {
      const { done, lines } = look();
      const now = performance.now();
      if (done || now - announced >= 1000) {
        for (const line of lines) log.info(line);
        announced = now;
      }
      if (done) return;
      if (now >= this.#end) throw new TritonError('INTERNAL', 'Exit timeout expired. Exiting immediately.');
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }
}
