/** Where the .onnx file of a model version lies. */
import { type Stats, statSync } from 'node:fs';
import { TritonError } from '../base/error.js';

/**
 * The real file behind `<version directory>/<default_model_filename>`: a directory stands for the `model.onnx` in it.
 * Missing: INTERNAL `failed to stat file <path>`; a directory without the file: UNAVAILABLE
 * `unable to find '<path>' for model instance '<model>'`.
 */
export function locateOnnxFile(path: string, modelName: string): string {
  const stats = tryStat(path);
  if (stats === undefined) throw new TritonError('INTERNAL', `failed to stat file ${path}`);
  if (!stats.isDirectory()) return path;
  const inner = `${path}/model.onnx`;
  if (tryStat(inner) === undefined) {
    throw new TritonError('UNAVAILABLE', `unable to find '${inner}' for model instance '${modelName}'`);
  }
  return inner;
}

function tryStat(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined; // whatever the system's reason: Triton's message for it is the same
  }
}
