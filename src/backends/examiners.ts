import type { FileExaminer } from '../contract/file-examiner.js';

/** Backends whose model files can be judged without running them. */
const EXAMINERS: Readonly<Record<string, () => Promise<{ examine: FileExaminer }>>> = {
  onnxruntime: () => import('./onnxruntime/examine-onnx.js'),
  python: () => import('./python/examine-python.js'),
};

/** The examiner of a backend, loaded when it is first asked for; undefined when there is none. */
export async function findExaminer(backend: string): Promise<FileExaminer | undefined> {
  return Object.hasOwn(EXAMINERS, backend) ? (await EXAMINERS[backend]!()).examine : undefined;
}
