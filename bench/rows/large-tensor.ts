import path from 'node:path';
import { writeFiles } from '../../test/support/machine/temporary-directory.js';
import { alternate, median } from '../measure.js';
import { startTriton } from '../server-process.js';
import type { BenchContext, Row } from './context.js';
import { callPlans } from './simple.js';

const ELEMENTS = 1 << 20;

/** A 4 MB FP32 tensor through the identity backend, both ways: tensors per second, MB/s and the server's CPU. */
export async function largeTensorRows(context: BenchContext): Promise<Row[]> {
  const repository = path.join(context.folder, 'large');
  writeFiles(path.join(repository, 'identity_fp32'), {
    '1/': '',
    'config.pbtxt': `backend: "identity"
input { name: "INPUT0" data_type: TYPE_FP32 dims: -1 }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: -1 }
instance_group { count: 1 kind: KIND_CPU }
`,
  });
  const server = await startTriton(repository);
  try {
    const data = new Uint8Array(Float32Array.from({ length: ELEMENTS }, (_, i) => i).buffer);
    const inputs = [{ name: 'INPUT0', datatype: 'FP32', shape: [ELEMENTS], data }] as const;
    const plans = callPlans(context, { modelName: 'identity_fp32', inputs }, 4);
    const contestants = [
      { name: 'http', server, plan: { ...plans.http, port: server.httpPort } },
      { name: 'grpc', server, plan: { ...plans.grpc, port: server.grpcPort } },
    ];
    const runs = await alternate(contestants, context.rounds);
    const measured = { http: { perSecond: 108, cpuMs: 9.1 }, grpc: { perSecond: 148, cpuMs: 4.4 } };
    return runs.map((run, i) => {
      const protocol = i === 0 ? 'http' : 'grpc';
      const nvidia = measured[protocol];
      const perSecond = median(run.map((m) => m.perSecond));
      const cpuMs = median(run.map((m) => m.cpuUsPerRequest)) / 1000;
      return {
        what: `4 MB FP32 identity ${protocol}, concurrency 4`,
        ours: `${perSecond.toFixed(0)} /s = ${((perSecond * ELEMENTS * 4) / 1e6).toFixed(0)} MB/s each way, ${cpuMs.toFixed(1)} ms CPU`,
        reference: `NVIDIA's server, measured once elsewhere: ${nvidia.perSecond} /s, ${nvidia.cpuMs} ms CPU`,
        ratio: (perSecond / nvidia.perSecond).toFixed(2),
        target: '>= 1.00',
      };
    });
  } finally {
    await server.stop();
  }
}
