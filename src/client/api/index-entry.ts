import type { IndexEntry, ModelState } from '../../protocol/management.js';

/** An entry of the repository index from the wire's texts; empty version, state and reason count as absent. */
export function indexEntry(name: string, version: string, state: string, reason: string): IndexEntry {
  return {
    name,
    ...(version === '' ? {} : { version }),
    ...(state === '' ? {} : { state: state as ModelState }),
    ...(reason === '' ? {} : { reason }),
  };
}
