import { cpSync, existsSync } from 'node:fs';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { writeFiles } from '../../test/support/machine/temporary-directory.js';
import { measure, median } from '../measure.js';
import { ROOT, startTriton } from '../server-process.js';
import type { BenchContext, Row } from './context.js';
import { callPlans } from './simple.js';

const SHAPE = [1, 3, 224, 224];
const INSTANCES = 2;

/**
 * The DenseNet-121 graph with 2 instances at concurrency 4, over both protocols, against the same number of threads
 * that run the same session in a bare loop. The graph lies beside the recordings; without it there is no such row.
 */
export async function densenetRows(context: BenchContext): Promise<Row[]> {
  const graph = path.join(ROOT, '../shared/data/bench_models/light_densenet121.onnx');
  if (!existsSync(graph)) {
    console.error(`bench: SKIPPED the DenseNet-121 rows, there is no ${graph}`);
    return [];
  }
  const repository = path.join(context.folder, 'densenet');
  const model = path.join(repository, 'densenet121');
  writeFiles(model, {
    '1/': '',
    'config.pbtxt': `backend: "onnxruntime"\ninstance_group { count: ${INSTANCES} kind: KIND_CPU }\n`,
  });
  cpSync(graph, path.join(model, '1/model.onnx'));
  const seconds = Math.max(context.seconds, 5);
  const server = await startTriton(repository);
  const input = new Float32Array(SHAPE.reduce((a, b) => a * b)).map((_, k, all) => k / all.length);
  try {
    const response = await fetch(`http://127.0.0.1:${server.httpPort}/v2/models/densenet121`);
    const metadata = (await response.json()) as { inputs: { name: string }[] };
    const name = metadata.inputs[0]?.name as string;
    const inputs = [{ name, datatype: 'FP32', shape: SHAPE, data: new Uint8Array(input.buffer) }] as const;
    const plans = callPlans({ ...context, seconds }, { modelName: 'densenet121', inputs }, 2 * INSTANCES);
    const figures: Record<'bare' | 'http' | 'grpc', number[]> = { bare: [], http: [], grpc: [] };
    for (let round = 0; round < context.rounds; round++) {
      figures.bare.push(await bareLoop(graph, name, seconds));
      for (const protocol of ['http', 'grpc'] as const) {
        const port = protocol === 'http' ? server.httpPort : server.grpcPort;
        figures[protocol].push(
          (await measure({ name: protocol, server, plan: { ...plans[protocol], port } })).perSecond,
        );
      }
    }
    return (['http', 'grpc'] as const).map((protocol) => ({
      what: `DenseNet-121 ${protocol}, ${INSTANCES} instances, concurrency ${2 * INSTANCES}`,
      ours: `${median(figures[protocol]).toFixed(1)} /s`,
      reference: `bare loop, ${INSTANCES} threads: ${median(figures.bare).toFixed(1)} /s`,
      ratio: median(figures[protocol].map((v, i) => v / (figures.bare[i] as number))).toFixed(2),
      target: '>= 0.95',
    }));
  } finally {
    await server.stop();
  }
}

/** Executions per second of threads that do nothing but run the session. */
async function bareLoop(graph: string, inputName: string, seconds: number): Promise<number> {
  const shared = new Int32Array(new SharedArrayBuffer(4));
  const data = { graph, inputName, shape: SHAPE, seconds, ready: shared, threads: INSTANCES };
  const rates = await Promise.all(
    Array.from({ length: INSTANCES }, () => {
      const worker = new Worker(new URL('../bare-loop.js', import.meta.url), { workerData: data });
      return new Promise<number>((resolve, reject) => {
        worker.on('message', resolve).on('error', reject);
      });
    }),
  );
  return rates.reduce((a, b) => a + b);
}
