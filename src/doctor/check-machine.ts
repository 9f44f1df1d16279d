/** Processor, memory, shared memory, open files, Node: what every kind of serving needs. */
import { statfsSync } from 'node:fs';
import os from 'node:os';
import { formatBytes } from '../base/format-bytes.js';
import type { Check } from './check.js';
import { type Host, placeOn, textOf } from './host.js';

const GIB = 2 ** 30;
/** Below this, models of usual size do not fit. */
const LITTLE_MEMORY = GIB;
/** What containers get when nobody asks for more. */
const CONTAINER_SHM = 64 * 2 ** 20;
const OLDEST_NODE = [20, 19] as const;
/** Connections of the usual load tests, with room for model files. */
const FEW_FILES = 4096;

/** Node's version against the oldest that is supported. */
export function checkNode(version = process.versions.node): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const good = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  const base = { id: 'node', title: 'Node', found: [`version ${version}, ${process.platform} ${process.arch}`] };
  const facts = { version, platform: process.platform, arch: process.arch };
  if (good) return { ...base, status: 'ok', follows: 'Node is new enough', facts };
  const wanted = OLDEST_NODE.join('.');
  const remedy = `Install Node ${wanted} or newer (nodejs.org, nvm, or the packages of your system).`;
  return { ...base, status: 'error', follows: `Node ${wanted} or newer is needed`, remedy, facts };
}

/** Cores, and how many of them a limit of the container leaves. */
export function checkCpu(host: Host): Check {
  const cores = os.cpus();
  const model =
    /^model name\s*:\s*(.+)$/m.exec(textOf(host, '/proc/cpuinfo') ?? '')?.[1] ?? cores[0]?.model ?? 'unknown';
  const usable = os.availableParallelism();
  const quota = cpuQuota(host);
  const found = [`${model}, ${cores.length} cores`];
  if (usable < cores.length) found.push(`${usable} of them may be used`);
  if (quota !== undefined) found.push(`the container may use the time of ${trim(quota)} cores`);
  const facts = { model, cores: cores.length, usable, quota: quota ?? null };
  const base = { id: 'cpu', title: 'Processor', found, facts };
  if (quota !== undefined && quota < usable) {
    return {
      ...base,
      status: 'warning',
      follows: `models would be given ${usable} threads, but only ${trim(quota)} cores' time: they would wait for each other`,
      remedy: `Raise the container's CPU limit, or let it have whole cores (docker run --cpuset-cpus=0-${Math.max(0, Math.ceil(quota) - 1)}).`,
    };
  }
  return { ...base, status: 'ok', follows: `models share ${usable} threads` };
}

/** Cores' worth of time that control groups allow (versions 2 and 1); undefined without a limit. */
function cpuQuota(host: Host): number | undefined {
  const [quota, period] = (textOf(host, '/sys/fs/cgroup/cpu.max') ?? '').trim().split(' ').map(Number);
  if (quota !== undefined && period !== undefined && quota > 0) return quota / period;
  const old = Number(textOf(host, '/sys/fs/cgroup/cpu/cpu.cfs_quota_us') ?? -1);
  const oldPeriod = Number(textOf(host, '/sys/fs/cgroup/cpu/cpu.cfs_period_us') ?? 0);
  return old > 0 && oldPeriod > 0 ? old / oldPeriod : undefined;
}

/** Memory of the machine, and what a limit of the container leaves. */
export function checkMemory(host: Host): Check {
  const info = textOf(host, '/proc/meminfo') ?? '';
  const total = kilobytes(info, 'MemTotal') ?? os.totalmem();
  const available = kilobytes(info, 'MemAvailable') ?? os.freemem();
  const limit = memoryLimit(host, total);
  const used = limit === undefined ? undefined : Number(textOf(host, '/sys/fs/cgroup/memory.current') ?? Number.NaN);
  const left =
    limit === undefined ? available : Math.min(available, limit - (Number.isFinite(used) ? (used as number) : 0));
  const found = [`${formatBytes(total)}, ${formatBytes(available)} available`];
  if (limit !== undefined) found.push(`the container may use ${formatBytes(limit)}`);
  const facts = { total, available, limit: limit ?? null, left };
  const base = { id: 'memory', title: 'Memory', found, facts };
  if (left >= LITTLE_MEMORY)
    return { ...base, status: 'ok', follows: `models and their batches may take ${formatBytes(left)}` };
  return {
    ...base,
    status: 'warning',
    follows: `only ${formatBytes(left)} are left: a large model would be ended by the system`,
    remedy:
      limit === undefined
        ? 'End other programs, or take a larger machine.'
        : "Raise the container's memory limit (docker run --memory).",
  };
}

function kilobytes(info: string, name: string): number | undefined {
  const match = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(info);
  return match === null ? undefined : Number(match[1]) * 1024;
}

/** The control group's limit, where it is below what the machine has. */
function memoryLimit(host: Host, total: number): number | undefined {
  const text = textOf(host, '/sys/fs/cgroup/memory.max') ?? textOf(host, '/sys/fs/cgroup/memory/memory.limit_in_bytes');
  const limit = Number(text?.trim() || Number.NaN);
  return Number.isFinite(limit) && limit < total ? limit : undefined;
}

/** /dev/shm, which carries large tensors to and from Python models, and clients' shared memory regions. */
export function checkSharedMemory(host: Host): Check {
  const base = { id: 'shared-memory', title: 'Shared memory' };
  try {
    const { bsize, blocks, bavail } = statfsSync(placeOn(host, '/dev/shm'));
    const [size, free] = [bsize * blocks, bsize * bavail];
    const found = [`/dev/shm has ${formatBytes(size)}, ${formatBytes(free)} free`];
    const facts = { bytes: size, free };
    if (size > CONTAINER_SHM) {
      return { ...base, status: 'ok', found, facts, follows: 'Python models and shared memory regions have room' };
    }
    const follows = 'large tensors of Python models, and regions of clients, may not fit';
    return {
      ...base,
      status: 'warning',
      found,
      facts,
      follows,
      remedy: 'Give the container more: docker run --shm-size=1g.',
    };
  } catch {
    return {
      ...base,
      ...{ status: 'missing', found: ['there is no /dev/shm'], facts: { bytes: 0, free: 0 } },
      follows: 'clients cannot use shared memory regions; tensors of Python models take the way over temporary files',
      remedy: 'Mount it: mount -t tmpfs tmpfs /dev/shm; in a container: --shm-size=1g.',
    };
  }
}

/** The number of files and connections that a process may have open. */
export function checkOpenFiles(host: Host): Check {
  const [, soft = ''] = /^Max open files\s+(\d+|unlimited)/m.exec(textOf(host, '/proc/self/limits') ?? '') ?? [];
  const base = { id: 'open-files', title: 'Open files' };
  const limit = soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
  if (soft === '')
    return { ...base, status: 'ok', found: ['the limit is not known'], follows: 'nothing', facts: { limit: null } };
  const facts = { limit: Number.isFinite(limit) ? limit : null };
  const found = [`a process may open ${soft}`];
  if (limit >= FEW_FILES)
    return { ...base, status: 'ok', found, facts, follows: 'thousands of connections at a time are possible' };
  const follows = `fewer than ${limit} connections at a time are possible`;
  return {
    ...base,
    status: 'warning',
    found,
    facts,
    follows,
    remedy: 'Raise the limit before the start: ulimit -n 65536.',
  };
}

function trim(value: number): string {
  return String(Math.round(value * 100) / 100);
}
