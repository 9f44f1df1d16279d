import type { Log } from '../../engine/log.js';
import type { TraceOptions } from '../options/server-options.js';
import { FileTrace } from './file-trace.js';
import type { FrontTrace } from './front-trace.js';
import { TraceSettings } from './trace-settings.js';

/** Decides which requests are traced, and where their traces go (spec: runtime, section 9). */
export class Tracer {
  readonly settings: TraceSettings;
  readonly #nextId: () => number;

  constructor(options: TraceOptions, log: Log) {
    let last = 0;
    this.#nextId = () => ++last;
    this.settings = new TraceSettings(options, log);
  }

  /** False while no request can be traced: front ends then need not ask. */
  get active(): boolean {
    return this.settings.active;
  }

  /** A trace for a request to a model, if it is one that is to be traced. `header` gives headers by lower-case name. */
  start(model: string, _header: (name: string) => string | undefined): FrontTrace | undefined {
    const setting = this.settings.of(model);
    return setting.sample(false) ? new FileTrace(setting, this.#nextId) : undefined;
  }

  /** Writes what there is. To be called when no more requests are on their way. */
  async close(): Promise<void> {
    this.settings.close();
  }
}
