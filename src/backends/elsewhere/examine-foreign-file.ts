/** Model files, judged as far as their formats show without the backend: present, of the right kind, whole. */
import { stat } from 'node:fs/promises';
import { openRegularFile } from '../../base/files/read-regular-file.js';
import type { Fault } from '../../contract/fault.js';
import type { ExaminationResult, ExaminedVersion } from '../../contract/file-examiner.js';
import { WireFile, WireFormatError } from '../../onnx/wire-file.js';
import { joinPath, kindOf } from '../../repository/files/local.js';
import { type FileFormat, formatOfFile, zipEntries } from '../../repository/load/file-format.js';
import { type FileProblem, formatProblem, modelFileProblem } from '../../repository/load/model-file-problem.js';

/** Finds what speaks against a file or directory that exists. */
type Judge = (path: string) => Promise<FileProblem | undefined>;

/** By platform, for backends without platforms by backend; whatever the file is called. */
const JUDGES: Readonly<Record<string, Judge>> = {
  tensorflow_graphdef: judgeGraphDef,
  tensorflow_savedmodel: judgeSavedModel,
  tensorrt_plan: judgePlan,
  pytorch_libtorch: judgeTorchScript,
  torch_aoti: judgePackage,
  openvino: judgeOpenVino,
};

/** Judges the model's file of one version; nothing is said where the configuration names none. */
export async function examineForeignFile(version: ExaminedVersion): Promise<ExaminationResult> {
  const faults = await fileFaults(version);
  const { config } = version;
  return { config, provided: false, tensors: 'complete', faults, doubts: [], instanceFaults: async () => [] };
}

async function fileFaults({ modelDirectory, version, config }: ExaminedVersion): Promise<Fault[]> {
  if (config.default_model_filename === '') return [];
  const path = joinPath(modelDirectory, version, config.default_model_filename);
  const kind = await kindOf(path);
  if (kind === undefined) {
    const message = `failed to stat file ${path}`;
    return [{ rule: 'model-file-missing', code: 'INTERNAL', message, path: [], file: path }];
  }
  const judge = JUDGES[config.platform] ?? JUDGES[config.backend];
  const problem = (kind === 'file' ? await modelFileProblem(path) : undefined) ?? (await judge?.(path));
  return problem === undefined ? [] : [{ ...problem, code: 'INTERNAL', path: [], file: path }];
}

function wrong(path: string, what: string, remedy: string): FileProblem {
  return { rule: 'model-file-format', message: `model file '${path}' ${what}`, remedy };
}

function truncated(path: string, why: string): FileProblem {
  const message = `model file '${path}' is cut short: ${why}`;
  return { rule: 'model-file-truncated', message, remedy: 'Copy, download or export the model again.' };
}

/** A protobuf message whose fields end where the file ends. */
async function judgeProtobuf(path: string): Promise<FileProblem | undefined> {
  const format = await formatOfFile(path);
  if (format !== undefined) return formatProblem(path, format);
  const file = new WireFile(path);
  try {
    file.message(file.size, () => false);
    return undefined;
  } catch (reason) {
    if (reason instanceof WireFormatError) return truncated(path, reason.message);
    throw reason;
  } finally {
    file.close();
  }
}

async function judgeGraphDef(path: string): Promise<FileProblem | undefined> {
  if ((await kindOf(path)) === 'file') return judgeProtobuf(path);
  return wrong(
    path,
    'is a directory, not a GraphDef',
    'A directory is a SavedModel: write platform: "tensorflow_savedmodel".',
  );
}

async function judgeSavedModel(path: string): Promise<FileProblem | undefined> {
  if ((await kindOf(path)) === 'file') {
    return wrong(path, 'is a file, not the directory of a SavedModel', 'Put the directory with saved_model.pb there.');
  }
  const graph = joinPath(path, 'saved_model.pb');
  if ((await kindOf(graph)) === 'file') return (await modelFileProblem(graph)) ?? (await judgeProtobuf(graph));
  if ((await kindOf(joinPath(path, 'saved_model.pbtxt'))) === 'file') return undefined;
  return wrong(
    path,
    'holds no saved_model.pb',
    'Copy the content of the SavedModel directory, without a directory between.',
  );
}

async function judgePlan(path: string): Promise<FileProblem | undefined> {
  if ((await kindOf(path)) === 'directory')
    return wrong(path, 'is a directory, not a TensorRT plan', 'Put the file there.');
  const format = await formatOfFile(path);
  if (format === 'tensorrt') return undefined;
  if (format !== undefined) return formatProblem(path, format);
  return wrong(path, 'does not begin like a TensorRT plan', 'Build the engine with trtexec --saveEngine.');
}

async function judgeTorchScript(path: string): Promise<FileProblem | undefined> {
  if ((await kindOf(path)) === 'directory')
    return wrong(path, 'is a directory, not TorchScript', 'Put the file there.');
  const format = await formatOfFile(path);
  const script = 'Save the model with torch.jit.script(model).save(path).';
  if (format === 'pickle') return wrong(path, 'holds pickled weights, not TorchScript', script);
  if (format !== 'zip')
    return format === undefined ? wrong(path, 'is not TorchScript', script) : formatProblem(path, format);
  const entries = await zipEntries(path);
  if (entries === undefined) return truncated(path, 'the directory of the archive is missing');
  if (entries.length === 0 || entries.some((name) => /^[^/]+\/(?:code\/|constants\.pkl)/.test(name))) return undefined;
  const weights = entries.some((name) => /^[^/]+\/data\.pkl$/.test(name));
  return wrong(
    path,
    weights ? 'holds weights or an eager model, not TorchScript' : 'is a zip archive, but not TorchScript',
    script,
  );
}

async function judgePackage(path: string): Promise<FileProblem | undefined> {
  if ((await kindOf(path)) === 'directory') return undefined;
  const format: FileFormat | undefined = await formatOfFile(path);
  if (format === 'zip') {
    return (await zipEntries(path)) === undefined
      ? truncated(path, 'the directory of the archive is missing')
      : undefined;
  }
  return format === undefined
    ? wrong(path, 'is not a package of AOTInductor', 'Make it with torch._inductor.aoti_compile_and_package.')
    : formatProblem(path, format);
}

async function judgeOpenVino(path: string): Promise<FileProblem | undefined> {
  const format = await formatOfFile(path);
  if (!path.endsWith('.xml')) return undefined; // it reads ONNX and other formats too
  if (format !== 'xml') return wrong(path, 'is not the XML of an OpenVINO model', 'Convert the model with ovc.');
  const { size } = await stat(path);
  const file = await openRegularFile(path);
  try {
    const length = Math.min(size, 64);
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
    if (!/<\/net>\s*$/.test(buffer.toString('latin1'))) return truncated(path, 'it does not end with </net>');
  } finally {
    await file.close();
  }
  const weights = path.replace(/\.xml$/, '.bin');
  if ((await kindOf(weights)) === 'file') return undefined;
  return wrong(path, `has no weights beside it: no file '${weights}'`, 'Copy the .bin file too.');
}
