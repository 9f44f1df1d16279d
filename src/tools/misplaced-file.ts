import { joinPath, listDirectory } from '../repository/files/local.js';

/** Names that the files of models have by default. */
const MODEL_FILES: ReadonlySet<string> = new Set([
  'model.onnx',
  'model.py',
  'model.pt',
  'model.pt2',
  'model.plan',
  'model.graphdef',
  'model.savedmodel',
  'model.xml',
]);

/** A model's file that lies in the model's directory itself, where no server looks for it; undefined when none does. */
export async function misplacedFile(modelDirectory: string): Promise<string | undefined> {
  const { files, directories } = await listDirectory(modelDirectory).catch(() => ({ files: [], directories: [] }));
  return [...files, ...directories].find((name) => MODEL_FILES.has(name) || name.endsWith('.onnx'));
}

/** What to do with it. */
export function misplacedRemedy(modelDirectory: string, file: string): string {
  const place = joinPath(modelDirectory, '1');
  const target = file.endsWith('.onnx') ? 'model.onnx' : file;
  return `Move ${joinPath(modelDirectory, file)} into a version directory: mkdir ${place} && mv ${joinPath(modelDirectory, file)} ${joinPath(place, target)}`;
}
