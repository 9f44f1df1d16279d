import { formatG } from '../../base/format-g.js';
import { type GpuPoll, type GpuValues, mergePolls } from '../measure/gpu-metrics.js';

/** More GPUs than these are not shown one by one on the console. */
const MOST_GPUS = 16;

/** One figure of the reports. */
interface Figure {
  /** Heading on the console and in the CSV. */
  readonly name: string;
  values(merged: GpuPoll): GpuValues;
  /** The value on the console, with its unit. */
  console(value: number): string;
  csv(value: number): string;
}

const bytes = (value: number): string => String(value);

const FIGURES: readonly Figure[] = [
  {
    name: 'Avg GPU Utilization',
    values: (merged) => merged.nv_gpu_utilization,
    console: (value) => `${formatG(value * 100)}%`,
    csv: formatG,
  },
  {
    name: 'Avg GPU Power Usage',
    values: (merged) => merged.nv_gpu_power_usage,
    console: (value) => `${formatG(value)} watts`,
    csv: formatG,
  },
  {
    name: 'Max GPU Memory Usage',
    values: (merged) => merged.nv_gpu_memory_used_bytes,
    console: (value) => `${bytes(value)} bytes`,
    csv: bytes,
  },
  {
    name: 'Total GPU Memory',
    values: (merged) => merged.nv_gpu_memory_total_bytes,
    console: (value) => `${bytes(value)} bytes`,
    csv: bytes,
  },
];

/** The block of a level's report about GPUs, as perf_analyzer prints it. */
export function gpuReport(polls: readonly GpuPoll[]): string[] {
  const merged = mergePolls(polls);
  const lines = ['  Server Prometheus Metrics: '];
  if (FIGURES.some((figure) => figure.values(merged).size > MOST_GPUS)) {
    lines.push(
      'Too many GPUs on system to print out individual Prometheus metrics, use the CSV output feature to see metrics.',
    );
    return lines;
  }
  for (const figure of FIGURES) {
    lines.push(`    ${figure.name}:`);
    for (const [uuid, value] of figure.values(merged)) lines.push(`      ${uuid} : ${figure.console(value)}`);
  }
  return lines;
}

/** The columns of the CSV about GPUs: `uuid:value;` one after the other. */
export const GPU_COLUMNS: readonly { readonly header: string; value(polls: readonly GpuPoll[]): string }[] =
  FIGURES.map((figure) => ({
    header: figure.name,
    value: (polls) =>
      [...figure.values(mergePolls(polls))].map(([uuid, value]) => `${uuid}:${figure.csv(value)};`).join(''),
  }));
