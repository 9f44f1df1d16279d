import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { SHIPPED_MODELS } from '../base/package.js';
import type { Check } from './check.js';
import { type Host, runProgram } from './host.js';

const PROBE = fileURLToPath(new URL('./runtime-probe.js', import.meta.url));
const CUDA_PROVIDER = 'libonnxruntime_providers_cuda.so';

/** ONNX Runtime as it is installed. */
export interface RuntimePackage {
  readonly version: string;
  /** Directory of its native libraries for this platform. */
  readonly libraries: string;
}

/** Finds the package; undefined when it is not installed. */
export function findRuntime(): RuntimePackage | undefined {
  try {
    const file = createRequire(import.meta.url).resolve('onnxruntime-node/package.json');
    const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
    return { version, libraries: path.join(path.dirname(file), 'bin', 'napi-v6', process.platform, process.arch) };
  } catch {
    return undefined;
  }
}

/** True when the package's CUDA provider, which is a download of its own, is there. */
export function hasCudaProvider(runtime: RuntimePackage | undefined): boolean {
  return runtime !== undefined && existsSync(path.join(runtime.libraries, CUDA_PROVIDER));
}

/** The runtime of ONNX models, and the providers that it really can open a model with. */
export async function checkOnnxRuntime(host: Host, runtime = findRuntime()): Promise<Check> {
  const base = { id: 'onnxruntime', title: 'ONNX Runtime' };
  const without = 'ONNX models cannot be served';
  if (runtime === undefined) {
    const found = ['the package onnxruntime-node is not installed'];
    return { ...base, status: 'error', found, follows: without, remedy: 'Run npm install.', facts: { version: null } };
  }
  const { version } = runtime;
  const cpu = await probe(host, 'cpu');
  if (cpu.problem !== '') {
    const found = [`version ${version}`, `it cannot be loaded: ${cpu.problem}`];
    const remedy = /GLIBC|cannot open shared object/.test(cpu.problem)
      ? 'It needs Linux with glibc 2.28 or newer (not Alpine), libstdc++, and the files of its package: run npm install again.'
      : 'Run npm install again; the message says what it lacks.';
    return { ...base, status: 'error', found, follows: without, remedy, facts: { version, providers: {} } };
  }
  const found = [`version ${version}`, 'provider cpu: can be loaded'];
  const providers: Record<string, string> = { cpu: 'ok' };
  if (hasCudaProvider(runtime)) {
    const cuda = await probe(host, 'cuda');
    providers['cuda'] = cuda.problem === '' ? 'ok' : cuda.problem;
    found.push(`provider cuda: ${cuda.problem === '' ? 'can be loaded' : `cannot be loaded: ${cuda.problem}`}`);
  } else {
    providers['cuda'] = 'not installed';
    found.push('provider cuda: not installed');
  }
  const backends = cpu.backends.map(({ name }) => name);
  const facts = { version, providers, backends };
  const follows = providers['cuda'] === 'ok' ? 'ONNX models run on GPUs and on the CPU' : 'ONNX models run on the CPU';
  return { ...base, status: 'ok', found, follows, facts };
}

interface Probe {
  readonly backends: readonly { readonly name: string }[];
  readonly problem: string;
}

/** A process of its own: a library that does not fit may end it. */
async function probe(host: Host, provider: string): Promise<Probe> {
  const model = path.join(SHIPPED_MODELS, 'simple', '1', 'model.onnx');
  const { out, status, complaint } = await runProgram(host, process.execPath, [PROBE, model, provider]);
  try {
    return JSON.parse(out.trim().split('\n').at(-1) ?? '') as Probe;
  } catch {
    return { backends: [], problem: complaint.trim().split('\n').at(-1) || `the process ended with status ${status}` };
  }
}
