import type { ServerLatency } from '../measure/server-latency.js';
import { serverLatency } from '../measure/server-latency.js';
import type { ServerStats } from '../measure/server-stats.js';
import type { PerfModel } from '../model/perf-model.js';

/** Lines about what the server did, models that it called included. */
export function serverReport(stats: ServerStats, model: PerfModel, warn: (line: string) => void): string[] {
  return blockOf(stats, 1, { cache: model.responseCache, topCache: model.topLevelCache, warn });
}

interface Block {
  readonly cache: boolean;
  /** The outermost model responds from its own cache. */
  readonly topCache: boolean;
  warn(line: string): void;
}

/** Lines of one model; `depth` 1 = the measured one. */
function blockOf(stats: ServerStats, depth: number, block: Block): string[] {
  const indent = ' '.repeat(2 * depth);
  if (stats.success.count === 0) return [`${indent}  Request count: 0`];
  const latency = serverLatency(stats);
  const lines = [
    `${indent}  Inference count: ${stats.inferenceCount}`,
    `${indent}  Execution count: ${stats.executionCount}`,
  ];
  if (block.cache) {
    lines.push(
      `${indent}  Cache hit count: ${stats.cacheHit.count}`,
      `${indent}  Cache miss count: ${stats.cacheMiss.count}`,
    );
  } else if (stats.cacheHit.ns > 0 || stats.cacheMiss.ns > 0) {
    block.warn(`Response Cache is disabled for model [${stats.name}] but cache hit/miss latency is non-zero.`);
  }
  lines.push(`${indent}  Successful request count: ${stats.success.count}`);
  const head = `${indent}  Avg request latency: ${latency.request} usec`;
  if (stats.composing.length > 0) return [...lines, ...ensembleLines(stats, latency, { head, depth }, block)];
  if (block.cache) {
    return [
      ...lines,
      `${head} (overhead ${latency.overheadWithCache} usec + queue ${latency.queue} usec + cache hit/miss ${latency.combined} usec)`,
      ...cacheLines(latency, indent, partsOf(latency)),
    ];
  }
  return [
    ...lines,
    `${head} (overhead ${latency.overhead} usec + queue ${latency.queue} usec + ${computeParts(latency)})`,
  ];
}

function ensembleLines(
  stats: ServerStats,
  latency: ServerLatency,
  { head, depth }: { readonly head: string; readonly depth: number },
  block: Block,
): string[] {
  const indent = ' '.repeat(2 * depth);
  const lines: string[] = [];
  if (!block.cache) {
    lines.push(
      `${head} (overhead ${latency.overhead} usec + queue ${latency.queue} usec + compute ${latency.compute} usec)`,
    );
  } else {
    const own = block.topCache && depth === 1;
    const parts = ` (overhead ${latency.overheadWithCache} usec + queue ${latency.queue} usec + cache hit/miss ${latency.combined} usec)`;
    lines.push(`${head}${own ? '' : parts}`, ...cacheLines(latency, indent, ''));
  }
  lines.push('', `${indent}Composing models: `);
  for (const each of [...stats.composing].sort(byNameAndVersion)) {
    lines.push(`${indent}${each.name}, version: ${each.version}`, ...blockOf(each, depth + 1, block));
  }
  return lines;
}

function cacheLines(latency: ServerLatency, indent: string, parts: string): string[] {
  return [
    `${indent}${indent}  Average Cache Hit Latency: ${latency.cacheHit} usec`,
    `${indent}${indent}  Average Cache Miss Latency: ${latency.cacheMiss + latency.compute} usec ${parts}`,
  ];
}

function partsOf(latency: ServerLatency): string {
  return `(cache lookup/insertion ${latency.cacheMiss} usec + ${computeParts(latency)})`;
}

function computeParts({ computeInput, computeInfer, computeOutput }: ServerLatency): string {
  return `compute input ${computeInput} usec + compute infer ${computeInfer} usec + compute output ${computeOutput} usec`;
}

function byNameAndVersion(a: ServerStats, b: ServerStats): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return Number(a.version) - Number(b.version);
}
