import { readFileSync } from 'node:fs';
import path from 'node:path';
import { writeFiles } from '../../test/support/machine/temporary-directory.js';
import { alternate, compare, type Measured, median } from '../measure.js';
import { hasNvidiaServer, nvidiaPython, startNvidiaServer } from '../nvidia-server.js';
import { childrenOf, type ServerProcess, startTriton } from '../server-process.js';
import type { BenchContext, Row } from './context.js';
import { callPlans } from './simple.js';

const MODEL = `import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            array = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", array)]))
        return responses
`;

const CONFIG = `backend: "python"
input { name: "INPUT0" data_type: TYPE_FP32 dims: -1 }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: -1 }
instance_group { count: 1 kind: KIND_CPU }
`;

/** Name and FP32 elements of the tensors. */
const SIZES = [
  ['64 B', 16],
  ['64 KB', 1 << 14],
  ['4 MB', 1 << 20],
] as const;

/**
 * A Python model that returns its input, in this server and in NVIDIA's: the same model.py, the same client, in
 * turns; and the memory of an instance's process. Without NVIDIA's server there are no such rows.
 */
export async function pythonRows(context: BenchContext): Promise<Row[]> {
  if (!hasNvidiaServer()) {
    console.error("bench: SKIPPED the rows of Python models: NVIDIA's server, to compare with, is not here");
    return [];
  }
  const repository = path.join(context.folder, 'python');
  writeFiles(path.join(repository, 'python_identity'), { 'config.pbtxt': CONFIG, '1/model.py': MODEL });
  const triton = await startTriton(repository, [`--backend-config=python,python-executable=${nvidiaPython()}`]);
  const nvidia = await startNvidiaServer(repository);
  try {
    const rows: Row[] = [memoryRow('idle', triton, nvidia)];
    const ratios: number[] = [];
    for (const [name, elements] of SIZES) {
      const data = new Uint8Array(Float32Array.from({ length: elements }, (_, i) => i).buffer);
      const inputs = [{ name: 'INPUT0', datatype: 'FP32', shape: [elements], data }] as const;
      for (const concurrency of [1, 8]) {
        const plans = callPlans(context, { modelName: 'python_identity', inputs }, concurrency);
        for (const protocol of ['http', 'grpc'] as const) {
          const contestants = [triton, nvidia].map((server) => {
            const port = protocol === 'http' ? server.httpPort : server.grpcPort;
            return { name: protocol, server, plan: { ...plans[protocol], port } };
          });
          const [ours, theirs] = (await alternate(contestants, context.rounds)) as [Measured[], Measured[]];
          const result = compare(ours, theirs, (m) => m.perSecond);
          ratios.push(result.ratio);
          const figures = (runs: Measured[], perSecond: number): string =>
            `${perSecond.toFixed(0)} /s, p50 ${median(runs.map((m) => m.p50Us)).toFixed(0)} us, ` +
            `CPU ${median(runs.map((m) => m.cpuUsPerRequest)).toFixed(0)} us`;
          const row = {
            what: `Python identity ${name} ${protocol}, concurrency ${concurrency}`,
            ours: figures(ours, result.ours),
            reference: `NVIDIA's server: ${figures(theirs, result.theirs)}`,
            ratio: result.ratio.toFixed(2),
            target: '>= 1.00',
          };
          console.error(`${row.what}: ${row.ours}; ${row.reference}; ratio ${row.ratio}`);
          rows.push(row);
        }
      }
    }
    const mean = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
    rows.push({ what: 'geometric mean', ours: '', reference: '', ratio: mean.toFixed(2), target: '>= 1.30' });
    rows.push(memoryRow('after the runs', triton, nvidia));
    return rows;
  } finally {
    await Promise.all([triton.stop(), nvidia.stop()]);
  }
}

/** Memory of the process of one instance: resident, and its share of what it has in common with other processes. */
function memoryRow(when: string, triton: ServerProcess, nvidia: ServerProcess): Row {
  const [ours, theirs] = [triton, nvidia].map(instanceMemory) as [Memory, Memory];
  const text = ({ rss, pss }: Memory): string => `${rss.toFixed(1)} / ${pss.toFixed(1)} MiB`;
  return {
    what: `process of an instance ${when}, RSS / PSS`,
    ours: text(ours),
    reference: `NVIDIA's stub: ${text(theirs)}`,
    ratio: (ours.pss / theirs.pss).toFixed(2),
    target: '',
  };
}

interface Memory {
  readonly rss: number;
  readonly pss: number;
}

/** Of the only child process of a server, in MiB (Linux). */
function instanceMemory(server: ServerProcess): Memory {
  const pid = childrenOf(server.pid).find((child) => readFileSync(`/proc/${child}/cmdline`).length > 0);
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) / 1024;
  return { rss: field('Rss'), pss: field('Pss') };
}
