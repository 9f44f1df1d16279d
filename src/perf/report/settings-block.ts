import type { PerfModel } from '../model/perf-model.js';
import type { ServiceKind } from '../options/connection-options.js';
import type { PerfOptions } from '../options/perf-options.js';

const KIND_NAMES: Readonly<Record<ServiceKind, string>> = {
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
  if (options.connection.serviceKind === 'triton' || options.input.batchSizeGiven)
    lines.push(`  Batch size: ${options.input.batchSize}`);
  lines.push(`  Service Kind: ${KIND_NAMES[options.connection.serviceKind]}`);
  if (options.load.warmupRequestCount > 0)
    lines.push(`  Sending ${requests(options.load.warmupRequestCount, 'warmup')}`);
  if (options.load.requestCount > 0) lines.push(`  Sending ${requests(options.load.requestCount, 'benchmark')}`);
  else lines.push(...stabilization(options));
  lines.push(...limits(options));
  if (options.load.loadMode === 'RequestRate') {
    const kind = options.load.requestDistribution === 'poisson' ? 'poisson' : 'uniform';
    lines.push(`  Using ${kind} distribution on request generation`);
  }
  if (options.load.search === 'binary') lines.push('  Using Binary Search algorithm');
  lines.push(`  Using ${options.load.async ? 'asynchronous' : 'synchronous'} calls for inference`);
  if (model.decoupled) lines.push('  Detected decoupled model, using the first response for measuring latency');
  return `${lines.join('\n')}\n\n`;
}

function requests(count: number, kind: string): string {
  return `${count} ${kind} request${count > 1 ? 's' : ''}`;
}

function stabilization(options: PerfOptions): string[] {
  const metric = options.load.async ? 'throughput' : 'latency and throughput';
  const value = options.measure.percentile === -1 ? `average ${metric}` : `p${options.measure.percentile}${metric}`;
  const lines = [`  Using "${options.measure.measurementMode}" mode for stabilization`, `  Stabilizing using ${value}`];
  if (options.measure.measurementMode === 'time_windows') {
    lines.push(`  Measurement window: ${options.measure.measurementInterval} msec`);
  } else {
    lines.push(`  Minimum number of samples in each window: ${options.measure.measurementRequestCount}`);
  }
  return lines;
}

function limits({ load: { concurrency, requestRate }, measure: { latencyThreshold } }: PerfOptions): string[] {
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
