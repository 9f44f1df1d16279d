/** Backends of Triton that are not part of this program: their models are recognised and checked, but not run. */
import type { AbsentBackend } from '../../contract/backend-traits.js';

const examine: AbsentBackend['examine'] = async () => (await import('./examine-foreign-file.js')).examineForeignFile;

/** TensorFlow: a directory (SavedModel) or a file (GraphDef). */
export const tensorflow: AbsentBackend = {
  name: 'tensorflow',
  formats: [
    { platform: 'tensorflow_graphdef', fileName: 'model.graphdef', entry: 'file' },
    { platform: 'tensorflow_savedmodel', fileName: 'model.savedmodel', entry: 'directory' },
  ],
  recognisedByPlatform: true,
  defaultCounts: { KIND_CPU: 2 },
  hint: 'TensorFlow models need TensorFlow; convert the model to ONNX (tf2onnx) to run it with onnxruntime',
  examine,
};

/** TensorRT: compiled plans. */
export const tensorrt: AbsentBackend = {
  name: 'tensorrt',
  formats: [{ platform: 'tensorrt_plan', fileName: 'model.plan', entry: 'file', engine: true }],
  hint: 'TensorRT plans need an NVIDIA GPU and TensorRT; export the model to ONNX to run it with onnxruntime',
  examine,
};

/** OpenVINO: XML with its weights beside it. */
export const openvino: AbsentBackend = {
  name: 'openvino',
  formats: [{ platform: '', fileName: 'model.xml', entry: 'file' }],
  hint: 'OpenVINO is not part of this program; export the model to ONNX to run it with onnxruntime',
  examine,
};

/** PyTorch: TorchScript, or packages of AOTInductor. */
export const pytorch: AbsentBackend = {
  name: 'pytorch',
  formats: [
    { platform: 'pytorch_libtorch', platformAliases: ['libtorch'], fileName: 'model.pt', entry: 'file' },
    { platform: 'torch_aoti', fileName: 'model.pt2' },
  ],
  hint: 'TorchScript needs libtorch; export the model to ONNX (torch.onnx.export) to run it with onnxruntime',
  examine,
};
