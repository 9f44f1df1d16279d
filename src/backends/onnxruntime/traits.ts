import { fileURLToPath } from 'node:url';
import type { BackendTraits } from '../../contract/backend-traits.js';
import { usableGpus } from './cuda.js';
// Before any thread or process can load the runtime: whatever uses it has come through the catalogue.
import './session/ort-telemetry.js';

/** ONNX models, on ONNX Runtime. */
export const onnxruntime: BackendTraits = {
  name: 'onnxruntime',
  formats: [{ platform: 'onnxruntime_onnx', fileName: 'model.onnx', extension: '.onnx', content: 'onnx' }],
  aliases: ['onnx', 'ort', 'onnxruntime_onnx', 'onnx-runtime', 'onnx_runtime'],
  defaultCounts: { KIND_CPU: 2 },
  codeFile: fileURLToPath(new URL('./onnxruntime-backend.js', import.meta.url)),
  optionalInputs: true,
  gpus: usableGpus,
  load: async () => (await import('./onnxruntime-backend.js')).backend,
  examine: async () => (await import('./examine-onnx.js')).examine,
};
