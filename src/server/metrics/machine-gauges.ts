import { readFileSync } from 'node:fs';
import os from 'node:os';
import { MAX_TIMER_MS } from '../../base/clock.js';

/** Use of CPU and memory, renewed twice per interval; 0 before the first renewal. */
export class MachineGauges {
  utilization = 0;
  memoryTotalBytes = 0;
  memoryUsedBytes = 0;
  #last = cpuTimes();
  readonly #timer: NodeJS.Timeout;

  constructor(intervalMs: number) {
    this.#timer = setInterval(() => this.#renew(), Math.min(Math.max(intervalMs / 2, 1), MAX_TIMER_MS));
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #renew(): void {
    const now = cpuTimes();
    const busy = now.busy - this.#last.busy;
    const all = busy + now.idle - this.#last.idle;
    if (all > 0) this.utilization = busy / all;
    this.#last = now;
    this.memoryTotalBytes = os.totalmem();
    this.memoryUsedBytes = this.memoryTotalBytes - availableBytes();
  }
}

/** Jiffies of all cores since boot, or milliseconds where there is no /proc. */
function cpuTimes(): { busy: number; idle: number } {
  const line = readProc('/proc/stat')?.split('\n', 1)[0];
  if (line !== undefined) {
    const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] = line
      .split(/\s+/)
      .slice(1)
      .map(Number);
    return { busy: user + nice + system + irq + softirq + steal, idle: idle + iowait };
  }
  let [busy, idle] = [0, 0];
  for (const { times } of os.cpus()) {
    busy += times.user + times.nice + times.sys + times.irq;
    idle += times.idle;
  }
  return { busy, idle };
}

function availableBytes(): number {
  const kilobytes = /^MemAvailable:\s+(\d+) kB/m.exec(readProc('/proc/meminfo') ?? '')?.[1];
  return kilobytes === undefined ? os.freemem() : Number(kilobytes) * 1024;
}

function readProc(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
