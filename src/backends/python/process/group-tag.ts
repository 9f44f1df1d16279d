/** How processes that a model started are found again when they have left its process group: by their environment. */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/** Environment variable that every process of a model has, and what it starts inherits. */
export const GROUP_VARIABLE = 'TRITON_PROCESS_GROUP';

/** Begin of the variable's value in all processes of this server. */
export const SERVER_TAG = `${process.pid}-${randomBytes(6).toString('hex')}.`;

let count = 0;

/** A new value of the variable, for one group. */
export function newTag(): string {
  return `${SERVER_TAG}${++count}`;
}

/**
 * Kills the processes of a group, wherever they have gone, each as soon as it is found, so that no other process can have
 * its id by then. Resolves to how many there were; none where the system does not show environments.
 */
export async function killTagged(tag: string): Promise<number> {
  let found = 0;
  for (const id of processIds()) {
    try {
      if (!hasTag(await readFile(`/proc/${id}/environ`), `${tag}\0`)) continue;
      found++;
      process.kill(id, 'SIGKILL');
    } catch {
      // It is gone, or belongs to somebody else.
    }
  }
  return found;
}

/** Kills all processes that this server's models started; for the end of this process. */
export function killAllTagged(): void {
  for (const id of processIds()) {
    try {
      if (hasTag(readFileSync(`/proc/${id}/environ`), SERVER_TAG)) process.kill(id, 'SIGKILL');
    } catch {
      // It is gone, or belongs to somebody else.
    }
  }
}

function hasTag(environment: Buffer, value: string): boolean {
  return environment.includes(`${GROUP_VARIABLE}=${value}`);
}

function processIds(): number[] {
  if (process.platform !== 'linux') return [];
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  } catch {
    return []; // not mounted: the groups alone are ended
  }
}
