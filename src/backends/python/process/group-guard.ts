/**
 * A shell that ends the processes of models when this process is killed and cannot do it itself. The kernel's parent-death
 * signal reaches only the first process of a model, not the workers that it forked.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { GROUP_VARIABLE, SERVER_TAG } from './group-tag.js';

/**
 * Reads which process groups run. When its input ends without `done`, it kills them, and on Linux also what left its
 * group but still has the tag in its environment.
 */
const SCRIPT = `
trap '' HUP INT QUIT TERM
groups=' '
while read -r verb id; do
  case $verb in
    add) groups="$groups$id " ;;
    remove) case $groups in *" $id "*) groups="\${groups%% $id *} \${groups#* $id }" ;; esac ;;
    done) exit 0 ;;
  esac
done
for id in $groups; do kill -s KILL -- "-$id"; done
if [ -r /proc/self/environ ]; then
  for file in $(grep -l -s "$1" /proc/[0-9]*/environ); do
    id=\${file#/proc/}
    kill -s KILL "\${id%/environ}"
  done
fi
`;

const groups = new Set<number>();
let guard: ChildProcess | undefined;

/** Has a process group killed when this process ends without its clean-ups. */
export function guardGroup(id: number): void {
  groups.add(id);
  guard ??= startGuard();
  tell(`add ${id}`);
}

/** The group is gone. */
export function unguardGroup(id: number): void {
  if (!groups.delete(id)) return;
  tell(`remove ${id}`);
  if (groups.size === 0) dismissGuard();
}

/** Ends the guard: there is nothing left to kill. */
export function dismissGuard(): void {
  tell('done');
  guard?.stdin?.end();
  guard = undefined;
}

function startGuard(): ChildProcess {
  const env = { ...process.env };
  // Else it would find itself.
  delete env[GROUP_VARIABLE];
  const args = ['-c', SCRIPT, 'triton-guard', `${GROUP_VARIABLE}=${SERVER_TAG}`];
  const child = spawn('/bin/sh', args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true, env });
  // Without a shell the parent-death signal is all there is.
  child.on('error', () => {});
  child.on('exit', (_status, signal) => {
    // Somebody killed it: another one takes its place. One that ends by itself at once would only do so again.
    if (guard !== child || signal === null) return;
    guard = startGuard();
    for (const id of groups) tell(`add ${id}`);
  });
  child.stdin?.on('error', () => {});
  child.unref();
  (child.stdin as unknown as { unref?(): void } | null)?.unref?.();
  return child;
}

function tell(line: string): void {
  guard?.stdin?.write(`${line}\n`);
}
