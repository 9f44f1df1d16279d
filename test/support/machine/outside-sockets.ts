import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** How often the sockets are looked at, in ms. */
const LOOK_MS = 5;

/**
 * Watches the sockets of a process and of its children by /proc (Linux): what they are connected to. `stop` ends it and
 * gives every peer that is not this machine, as `udp 08080808:0035` (hexadecimal, as the kernel prints them).
 */
export function watchOutsideSockets(pid: number): { stop(): string[] } {
  const peers = new Set<string>();
  const look = (): void => {
    for (const id of family(pid)) collect(id, peers);
  };
  const timer = setInterval(look, LOOK_MS);
  return {
    stop() {
      clearInterval(timer);
      return [...peers];
    },
  };
}

function family(pid: number): number[] {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    const children = tasks.flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    );
    return [pid, ...children.flatMap(family)];
  } catch {
    return []; // the process or one of its threads has just ended
  }
}

function collect(pid: number, peers: Set<string>): void {
  try {
    const sockets = new Set<string>();
    for (const fd of readdirSync(`/proc/${pid}/fd`)) {
      const inode = /^socket:\[(\d+)\]$/.exec(target(`/proc/${pid}/fd/${fd}`))?.[1];
      if (inode !== undefined) sockets.add(inode);
    }
    if (sockets.size === 0) return;
    for (const protocol of ['tcp', 'tcp6', 'udp', 'udp6']) {
      for (const line of readFileSync(`/proc/${pid}/net/${protocol}`, 'utf8').split('\n').slice(1)) {
        const [, , remote = '', , , , , , , inode = ''] = line.trim().split(/\s+/);
        if (sockets.has(inode) && !isLocal(remote)) peers.add(`${protocol} ${remote}`);
      }
    }
  } catch {
    // The process has just ended.
  }
}

function target(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return ''; // closed meanwhile
  }
}

/** 127.0.0.0/8, ::1, ::ffff:127.0.0.0/8 and no peer at all, as /proc/net prints them on little-endian machines. */
function isLocal(address: string): boolean {
  return /^(0+:|[0-9A-F]{6}7F:|0{24}01000000:|0{16}FFFF0000[0-9A-F]{6}7F:)/.test(address);
}
