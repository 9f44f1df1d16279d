import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GPU_COLUMNS, gpuReport } from '../report/gpu-report.js';
import { type GpuPoll, parseGpuMetrics } from './gpu-metrics.js';

const line = (metric: string, uuid: string, value: string): string => `${metric}{gpu_uuid="${uuid}"} ${value}\n`;

function endpoint(uuids: readonly string[], utilization: number, used: number): GpuPoll {
  return parseGpuMetrics(
    `# HELP\n${uuids
      .map(
        (uuid) =>
          line('nv_gpu_utilization', uuid, String(utilization)) +
          line('nv_gpu_power_usage', uuid, '71.25') +
          line('nv_gpu_memory_used_bytes', uuid, String(used)) +
          line('nv_gpu_memory_total_bytes', uuid, '17179869184.000000'),
      )
      .join('')}`,
  );
}

test('averages and largest values of all looks, by GPU in the order of their names', () => {
  const polls = [endpoint(['GPU-b', 'GPU-a'], 0.5, 100), endpoint(['GPU-b', 'GPU-a'], 0.25, 300)];
  assert.deepEqual(gpuReport(polls), [
    '  Server Prometheus Metrics: ',
    '    Avg GPU Utilization:',
    '      GPU-a : 37.5%',
    '      GPU-b : 37.5%',
    '    Avg GPU Power Usage:',
    '      GPU-a : 71.25 watts',
    '      GPU-b : 71.25 watts',
    '    Max GPU Memory Usage:',
    '      GPU-a : 300 bytes',
    '      GPU-b : 300 bytes',
    '    Total GPU Memory:',
    '      GPU-a : 17179869184 bytes',
    '      GPU-b : 17179869184 bytes',
  ]);
  assert.deepEqual(
    GPU_COLUMNS.map((column) => [column.header, column.value(polls)]),
    [
      ['Avg GPU Utilization', 'GPU-a:0.375;GPU-b:0.375;'],
      ['Avg GPU Power Usage', 'GPU-a:71.25;GPU-b:71.25;'],
      ['Max GPU Memory Usage', 'GPU-a:300;GPU-b:300;'],
      ['Total GPU Memory', 'GPU-a:17179869184;GPU-b:17179869184;'],
    ],
  );
});

test('no GPU: headings without values, empty columns', () => {
  const polls = [parseGpuMetrics('# TYPE nv_cpu_utilization gauge\nnv_cpu_utilization 0.1\n')];
  assert.equal(gpuReport(polls).length, 5);
  assert.deepEqual(
    GPU_COLUMNS.map((column) => column.value(polls)),
    ['', '', '', ''],
  );
  assert.deepEqual(gpuReport([]), gpuReport(polls));
});

test('more GPUs than the console shows are in the columns', () => {
  const uuids = Array.from({ length: 17 }, (_, i) => `GPU-${String(i).padStart(2, '0')}`);
  const polls = [endpoint(uuids, 0.5, 1)];
  assert.deepEqual(gpuReport(polls), [
    '  Server Prometheus Metrics: ',
    'Too many GPUs on system to print out individual Prometheus metrics, use the CSV output feature to see metrics.',
  ]);
  assert.equal(GPU_COLUMNS[0]!.value(polls).split(';').length, 18);
});

test('only lines with the GPU as their one label and a plain number count', () => {
  const poll = parseGpuMetrics(
    [
      '# TYPE nv_gpu_utilization gauge',
      'nv_gpu_utilization{gpu_uuid="a"} 0.5',
      'nv_gpu_power_usage{gpu_uuid="a",host="x"} 70',
      'nv_gpu_memory_used_bytes{gpu_uuid="a"} 1.5e9',
      ' nv_gpu_memory_total_bytes{gpu_uuid="a"} 1',
    ].join('\n'),
  );
  assert.deepEqual(
    [poll.nv_gpu_utilization, poll.nv_gpu_power_usage, poll.nv_gpu_memory_used_bytes, poll.nv_gpu_memory_total_bytes],
    [new Map([['a', 0.5]]), new Map(), new Map([['a', 1.5]]), new Map()],
  );
});
