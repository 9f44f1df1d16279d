/** Looks at everything that serving depends on and says what would be used. */
import type { Check } from './check.js';
import { checkCpu, checkMemory, checkNode, checkOpenFiles, checkSharedMemory } from './check-machine.js';
import { checkCudaLibraries, checkNvidia } from './check-nvidia.js';
import { checkOnnxRuntime, findRuntime, hasCudaProvider } from './check-onnxruntime.js';
import { checkPorts } from './check-ports.js';
import { checkPython } from './check-python.js';
import { type Host, thisHost } from './host.js';

/** The whole examination. */
export interface Diagnosis {
  readonly checks: readonly Check[];
  /** False when some check is an error. */
  readonly canServe: boolean;
  /** What models would run on, in sentences. */
  readonly summary: readonly string[];
}

/** Examines a machine; never fails. `ports` stand in for the default ones. */
export async function runDoctor(host: Host = thisHost, ports?: readonly number[]): Promise<Diagnosis> {
  const runtime = findRuntime();
  const nvidia = await guarded('nvidia', 'NVIDIA GPU', () => checkNvidia(host));
  const hasGpu = (nvidia.facts['gpus'] as readonly unknown[] | undefined)?.length !== 0;
  const checks = await Promise.all([
    guarded('node', 'Node', () => checkNode()),
    guarded('onnxruntime', 'ONNX Runtime', () => checkOnnxRuntime(host)),
    guarded('cpu', 'Processor', () => checkCpu(host)),
    guarded('memory', 'Memory', () => checkMemory(host)),
    guarded('shared-memory', 'Shared memory', () => checkSharedMemory(host)),
    guarded('open-files', 'Open files', () => checkOpenFiles(host)),
    nvidia,
    guarded('cuda-libraries', 'CUDA libraries', () => checkCudaLibraries(host, hasGpu, hasCudaProvider(runtime))),
    guarded('python', 'Python', () => checkPython(host)),
    guarded('ports', 'Ports', () => (ports === undefined ? checkPorts() : checkPorts(ports))),
  ]);
  const canServe = checks.every(({ status }) => status !== 'error');
  return { checks, canServe, summary: summarise(checks, canServe) };
}

/** A check that fails by itself is a finding too: the others go on. */
async function guarded(id: string, title: string, check: () => Check | Promise<Check>): Promise<Check> {
  try {
    return await check();
  } catch (reason) {
    const text = reason instanceof Error ? reason.message : String(reason);
    return {
      id,
      title,
      status: 'warning',
      found: [`could not be examined: ${text}`],
      follows: 'nothing is known of it',
      facts: {},
    };
  }
}

function summarise(checks: readonly Check[], canServe: boolean): string[] {
  const by = new Map(checks.map((check) => [check.id, check]));
  if (!canServe) {
    const errors = checks.filter(({ status }) => status === 'error').map(({ title }) => title);
    return [`Serving is not possible: ${errors.join(', ')}.`];
  }
  const providers = by.get('onnxruntime')?.facts['providers'] as Record<string, string> | undefined;
  const gpus = (by.get('nvidia')?.facts['gpus'] as readonly { name: string }[] | undefined) ?? [];
  const onGpu = providers?.['cuda'] === 'ok' && gpus.length > 0;
  const threads = by.get('cpu')?.facts['usable'];
  const onnx = onGpu
    ? `ONNX models with KIND_AUTO or KIND_GPU would run on ${gpus.map(({ name }, i) => `GPU ${i} (${name})`).join(', ')}, others on the CPU with ${threads} threads.`
    : `ONNX models would run on the CPU with ${threads} threads${gpus.length > 0 ? ', not on the GPU' : ''}.`;
  const python = by.get('python');
  const pythonText =
    python?.status === 'ok'
      ? `Python models would run with ${python.facts['executable']} (Python ${python.facts['version']}, numpy ${python.facts['numpy']}).`
      : 'Python models could not be served.';
  return ['Serving is possible.', onnx, pythonText];
}
