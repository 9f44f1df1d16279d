import type { Semaphore } from '../../../base/semaphore.js';
import type { Repositories } from '../poll/repositories.js';
import type { LoadCancelled } from '../version/load-cancelled.js';
import type { LoadContext } from '../version/load-version.js';
import type { LiveVersions } from './live-versions.js';
import type { ModelTable } from './model-table.js';

/** What the operations on models (start, poll, load, unload) work with. */
export interface Models {
  /** What loads need of the engine. */
  readonly context: LoadContext;
  readonly repositories: Repositories;
  readonly table: ModelTable;
  readonly versions: LiveVersions;
  /** How many versions may be loaded at the same time. */
  readonly loadSlots: Semaphore;
  /** Why nothing is loaded any more. */
  stopped: LoadCancelled | undefined;
}
