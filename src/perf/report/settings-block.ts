import type { PerfModel } from '../model/perf-model.js';
import type { PerfOptions } from '../options/perf-options.js';

const KIND_NAMES: Readonly<Record<PerfOptions['serviceKind'], string>> = {
  triton: 'TRITON',
  tfserving: 'TENSORFLOW_SERVING',
  torchserve: 'TORCHSERVE',
  triton_c_api: 'TRITON_C_API',
  openai: 'OPENAI',
  dynamic_grpc: 'DYNAMIC_GRPC',
};

/** The block `*** Measurement Settings ***` with the empty line that ends it, as perf_analyzer.cc prints it. */
export function settingsBlock(options: PerfOptions, model: Pick<PerfModel, 'decoupled'>): string {
  const lines = ['*** Measurement Settings ***'];
  if (options.serviceKind === 'triton' || options.batchSizeGiven) lines.push(`  Batch size: ${options.batchSize}`);
  lines.push(`  Service Kind: ${KIND_NAMES[options.serviceKind]}`);
  if (options.warmupRequestCount > 0) lines.push(`  Sending ${requests(options.warmupRequestCount, 'warmup')}`);
  if (options.requestCount > 0) lines.push(`  Sending ${requests(options.requestCount, 'benchmark')}`);
  else lines.push(...stabilization(options));
  lines.push(...limits(options));
  if (options.loadMode === 'RequestRate') {
    const kind = options.requestDistribution === 'poisson' ? 'poisson' : 'uniform';
    lines.push(`  Using ${kind} distribution on request generation`);
  }
  if (options.search === 'binary') lines.push('  Using Binary Search algorithm');
  lines.push(`  Using ${options.async ? 'asynchronous' : 'synchronous'} calls for inference`);
  if (model.decoupled) lines.push('  Detected decoupled model, using the first response for measuring latency');
  return `${lines.join('\n')}\n\n`;
}

function requests(count: number, kind: string): string {
  return `${count} ${kind} request${count > 1 ? 's' : ''}`;
}

function stabilization(options: PerfOptions): string[] {
  const metric = options.async ? 'throughput' : 'latency and throughput';
  const value = options.percentile === -1 ? `average ${metric}` : `p${options.percentile}${metric}`;
  const lines = [`  Using "${options.measurementMode}" mode for stabilization`, `  Stabilizing using ${value}`];
  if (options.measurementMode === 'time_windows') {
    lines.push(`  Measurement window: ${options.measurementInterval} msec`);
  } else {
    lines.push(`  Minimum number of samples in each window: ${options.measurementRequestCount}`);
  }
  return lines;
}

function limits({ concurrency, requestRate, latencyThreshold }: PerfOptions): string[] {
  const lines: string[] = [];
  if (concurrency.end !== 1) {
    lines.push(`  Latency limit: ${latencyThreshold} msec`);
    if (concurrency.end !== 0) {
      lines.push(`  Concurrency limit: ${Math.max(concurrency.start, concurrency.end)} concurrent requests`);
    }
  }
  if (requestRate.end !== 1) {
    lines.push(`  Latency limit: ${latencyThreshold} msec`);
    if (requestRate.end !== 0) {
      lines.push(`  Request Rate limit: ${Math.max(requestRate.start, requestRate.end)} requests per seconds`);
    }
  }
  return lines;
}
