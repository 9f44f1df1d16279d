/**
 * Run as a process of its own by `check-onnxruntime.ts`, because a native library may end its process: loads the runtime
 * and opens a model with the provider that is named. Prints one line of JSON.
 */
import { createRequire } from 'node:module';
import { loadOrtBinding } from '../backends/onnxruntime/session/ort-binding.js';

const [, , model = '', provider = 'cpu'] = process.argv;

interface Probe {
  /** What the runtime says it was built with. */
  backends: { name: string; bundled: boolean }[];
  /** Why the provider cannot be used; '' when it can. */
  problem: string;
}

const result: Probe = { backends: [], problem: '' };
try {
  const binding = loadOrtBinding();
  const api = createRequire(import.meta.url)('onnxruntime-node') as { listSupportedBackends?: () => Probe['backends'] };
  result.backends = api.listSupportedBackends?.() ?? [];
  const session = new binding.session();
  session.loadModel(model, { executionProviders: [provider], logSeverityLevel: 4, intraOpNumThreads: 1 });
  session.dispose();
} catch (reason) {
  result.problem = reason instanceof Error ? reason.message : String(reason);
}
process.stdout.write(`${JSON.stringify(result)}\n`);
