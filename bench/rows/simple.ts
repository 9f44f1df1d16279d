import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { InferCall } from '../../src/client/api/client.js';
import { encodeGrpcInferRequest } from '../../src/client/infer/grpc-codec.js';
import { encodeHttpInferRequest } from '../../src/client/infer/http-codec.js';
import type { LoadPlan } from '../load/plan.js';
import { alternate, type Contestant, compare, type Measured } from '../measure.js';
import { ROOT, type ServerProcess, startBare, startTriton } from '../server-process.js';
import type { BenchContext, Row } from './context.js';

/** Path of the method that unary inference calls. */
export const INFER_METHOD = '/inference.GRPCInferenceService/ModelInfer';

/**
 * `simple` over HTTP and gRPC beside bare servers on node:http and node:http2, which parse the request and answer fixed
 * bytes: throughput, median latency and the server's CPU per request.
 */
export async function simpleRows(context: BenchContext): Promise<Row[]> {
  const triton = await startTriton(path.join(ROOT, 'fixtures/models'));
  const bareHttp = await startBare('bare-http.js');
  const bareHttp2 = await startBare('bare-http2.js');
  try {
    const rows: Row[] = [];
    for (const concurrency of [1, 16]) {
      const http = simplePlans(context, concurrency).http;
      const grpc = simplePlans(context, concurrency).grpc;
      rows.push(
        ...(await versus(context, 'http', { concurrency, triton, bare: bareHttp, plan: http, bareName: 'node:http' })),
      );
      rows.push(
        ...(await versus(context, 'grpc', {
          concurrency,
          triton,
          bare: bareHttp2,
          plan: grpc,
          bareName: 'node:http2',
        })),
      );
    }
    return rows;
  } finally {
    await Promise.all([triton.stop(), bareHttp.stop(), bareHttp2.stop()]);
  }
}

/** Loads of `simple` without port. */
export function simplePlans(
  context: BenchContext,
  concurrency: number,
): Record<'http' | 'grpc', Omit<LoadPlan, 'port'>> {
  const data = new Uint8Array(Int32Array.from({ length: 16 }, (_, i) => i).buffer);
  const call: InferCall = {
    modelName: 'simple',
    inputs: ['INPUT0', 'INPUT1'].map((name) => ({ name, datatype: 'INT32', shape: [1, 16], data })),
  };
  return callPlans(context, call, concurrency);
}

/** Prepared requests of a call for both protocols. */
export function callPlans(
  context: BenchContext,
  call: InferCall,
  concurrency: number,
): Record<'http' | 'grpc', Omit<LoadPlan, 'port'>> {
  const http = encodeHttpInferRequest(call);
  const httpFile = path.join(context.folder, `${call.modelName}.http`);
  const grpcFile = path.join(context.folder, `${call.modelName}.grpc`);
  writeFileSync(httpFile, Buffer.concat(http.chunks));
  writeFileSync(grpcFile, Buffer.concat(encodeGrpcInferRequest(call)));
  const headers: Record<string, string> =
    http.headerLength === undefined ? {} : { 'Inference-Header-Content-Length': String(http.headerLength) };
  const common = { concurrency, seconds: context.seconds };
  return {
    http: { ...common, protocol: 'http', path: `/v2/models/${call.modelName}/infer`, headers, bodyFile: httpFile },
    grpc: { ...common, protocol: 'grpc', path: INFER_METHOD, headers: {}, bodyFile: grpcFile },
  };
}

/** What is compared under one load. */
interface Versus {
  readonly concurrency: number;
  readonly triton: ServerProcess;
  readonly bare: ServerProcess;
  readonly plan: Omit<LoadPlan, 'port'>;
  readonly bareName: string;
}

async function versus(
  context: BenchContext,
  protocol: 'http' | 'grpc',
  { concurrency, triton, bare, plan, bareName }: Versus,
): Promise<Row[]> {
  const port = (server: ServerProcess): number => (protocol === 'http' ? server.httpPort : server.grpcPort);
  const contestants: Contestant[] = [
    { name: 'triton', server: triton, plan: { ...plan, port: port(triton) } },
    { name: bareName, server: bare, plan: { ...plan, port: port(bare) } },
  ];
  const [ours, theirs] = (await alternate(contestants, context.rounds)) as [Measured[], Measured[]];
  const row = (name: string, unit: string, figure: (m: Measured) => number, target: string): Row => {
    const result = compare(ours, theirs, figure);
    return {
      what: `simple ${protocol}, concurrency ${concurrency}: ${name}`,
      ours: `${result.ours.toFixed(0)} ${unit}`,
      reference: `${bareName} ${result.theirs.toFixed(0)} ${unit}`,
      ratio: result.ratio.toFixed(2),
      target,
    };
  };
  const throughputTarget = protocol === 'http' ? '>= 1.00' : '>= 1.20';
  return [
    row('throughput', '/s', (m) => m.perSecond, concurrency === 16 ? throughputTarget : ''),
    row('p50', 'us', (m) => m.p50Us, concurrency === 1 ? '<= 1.00' : ''),
    row('server CPU', 'us', (m) => m.cpuUsPerRequest, ''),
  ];
}
