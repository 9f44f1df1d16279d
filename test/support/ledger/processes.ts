import { readdirSync, readFileSync } from 'node:fs';

/** A process as the ledger lists it. */
export interface ListedProcess {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** All processes that run (Linux); those that have ended and wait for their parent's look are left out. */
export function listProcesses(): ListedProcess[] {
  const found: ListedProcess[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      // The command's name stands in parentheses and may hold blanks and parentheses itself.
      const [state = '', parent = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (state === 'Z' || state === 'X') continue;
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').join(' ').trim();
      found.push({ pid: Number(name), parent: Number(parent), command: command.slice(0, 200) });
    } catch {
      // It ended between being listed and being read.
    }
  }
  return found;
}

/** The processes that were started, by whatever way, with `NAME=value` in their environment; not this one. */
export function processesMarked(mark: string): ListedProcess[] {
  return listProcesses().filter(({ pid }) => {
    if (pid === process.pid) return false;
    try {
      return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(mark);
    } catch {
      return false; // it ended, or belongs to another user: then it is not ours
    }
  });
}

/** The child processes of this process, and theirs. */
export function descendants(): ListedProcess[] {
  const all = listProcesses();
  const found: ListedProcess[] = [];
  let parents = new Set([process.pid]);
  while (parents.size > 0) {
    const next = all.filter(({ parent }) => parents.has(parent));
    found.push(...next);
    parents = new Set(next.map(({ pid }) => pid));
  }
  return found;
}
