/** Makes a Python model to start from: a class that completes its configuration, and runs as it is. */
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { invalidArg, TritonError } from '../base/error.js';
import { isCode, makeFolderIn } from '../repository/files/staged-folder.js';

/** What was made. */
export interface AddedPythonModel {
  /** Directory of the model. */
  readonly directory: string;
  /** Its file, relative to that. */
  readonly file: string;
}

/**
 * Adds a model of that name. ALREADY_EXISTS when the repository has one, INVALID_ARG for unusable names. Nothing is left
 * after a failure.
 */
export async function addPythonModel(repository: string, name: string): Promise<AddedPythonModel> {
  if (name.trim() === '' || name === '.' || name === '..' || /[/\\\0]/.test(name)) {
    throw invalidArg(`'${name}' cannot name a model: it must be the name of one directory`);
  }
  const directory = join(repository, name);
  const file = '1/model.py';
  const exists = new TritonError(
    'ALREADY_EXISTS',
    `'${repository}' has '${name}' already and nothing is overwritten; give another name, or remove it first`,
  );
  if ((await stat(directory).catch(() => undefined)) !== undefined) throw exists;
  try {
    await makeFolderIn(repository, name, async (staging) => {
      await mkdir(join(staging, '1'));
      await writeFile(join(staging, file), MODEL);
      await writeFile(join(staging, 'config.pbtxt'), CONFIG);
    });
  } catch (reason) {
    throw isCode(reason, 'EEXIST', 'ENOTEMPTY') ? exists : reason;
  }
  return { directory, file };
}

const CONFIG = `# Inputs, outputs and the batch size are declared by auto_complete_config in 1/model.py.
backend: "python"
`;

const MODEL = `import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        """Declares what the model takes and gives. -1 stands for any size; the batch dimension is left out."""
        config.set_max_batch_size(8)
        config.set_dynamic_batching()
        config.add_input({"name": "INPUT", "data_type": "TYPE_FP32", "dims": [-1]})
        config.add_output({"name": "OUTPUT", "data_type": "TYPE_FP32", "dims": [-1]})
        return config

    def initialize(self, args):
        """Runs once, before any request: load weights here. args: model_name, model_version, model_config (JSON), ..."""

    def execute(self, requests):
        """Gets a batch of requests; returns a response for each, in the same order."""
        responses = []
        for request in requests:
            values = pb_utils.get_input_tensor_by_name(request, "INPUT").as_numpy()
            result = (values * 2).astype(np.float32)
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", result)]))
        return responses

    def finalize(self):
        """Runs once, at the end."""
`;
