import path from 'node:path';

const IO =
  'input { name: "IN" data_type: TYPE_INT32 dims: [4] } output { name: "OUT" data_type: TYPE_INT32 dims: [4] }';
const IDENTITY = `backend: "identity" ${IO}`;
const PYTHON = `backend: "python" ${IO}`;
const ONE = 'instance_group { count: 1 kind: KIND_CPU }';

/** Sleeps some milliseconds per batch, then echoes. */
const SLOW = `
import time
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        time.sleep(0.004)
        tensors = [pb_utils.get_input_tensor_by_name(request, "IN").as_numpy() for request in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", tensor)]) for tensor in tensors]
`;

/** Answers as often as the first number of the input says. */
const DECOUPLED = `
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            tensor = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
            sender = request.get_response_sender()
            for _ in range(int(tensor.flat[0])):
                sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", tensor)]))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        return None
`;

import { writeFiles } from '../../test/support/machine/temporary-directory.js';

const sequence = (strategy: string): string =>
  `${IDENTITY} max_batch_size: 4 ${ONE} sequence_batching { max_sequence_idle_microseconds: 60000000 ${strategy} }`;

const step = (model: string, from: string, to: string): string =>
  `step { model_name: "${model}" model_version: -1
    input_map { key: "IN" value: "${from}" } output_map { key: "OUT" value: "${to}" } }`;

/** Configuration of the model that is loaded, changed and unloaded all the time. */
export const reloadConfig = (instances: number): string =>
  `${IDENTITY} max_batch_size: 8 instance_group { count: ${instances} kind: KIND_CPU } dynamic_batching { }`;

/** Models without Python: name -> configuration. */
export const MODELS: Readonly<Record<string, string>> = {
  plain: `${IDENTITY} max_batch_size: 8`,
  batched: `${IDENTITY} max_batch_size: 8 dynamic_batching { preferred_batch_size: [4] max_queue_delay_microseconds: 2000 }`,
  ordered: `${IDENTITY} max_batch_size: 8 instance_group { count: 2 kind: KIND_CPU } dynamic_batching { preserve_ordering: true }`,
  direct: sequence(''),
  oldest: sequence('oldest { max_candidate_sequences: 4 max_queue_delay_microseconds: 1000 }'),
  chain: `platform: "ensemble" ${IO} max_batch_size: 8 ensemble_scheduling {
    ${step('member', 'IN', 'MIDDLE')} ${step('member', 'MIDDLE', 'OUT')} }`,
  member: `${IDENTITY} max_batch_size: 8 dynamic_batching { }`,
  reload: reloadConfig(1),
};

/** Models in Python: name -> configuration and code. */
export const PYTHON_MODELS: Readonly<Record<string, readonly [config: string, code: string]>> = {
  /** Its queue is often full. */
  narrow: [`${PYTHON} max_batch_size: 2 ${ONE} dynamic_batching { default_queue_policy { max_queue_size: 2 } }`, SLOW],
  /** Requests expire in its queue, are cancelled in it, and have priorities. */
  patient: [
    `${PYTHON} max_batch_size: 1 ${ONE} dynamic_batching { priority_levels: 2 default_priority_level: 2
      default_queue_policy { default_timeout_microseconds: 8000 } }`,
    SLOW,
  ],
  /** Several responses to a request. */
  repeat: [`${PYTHON} ${ONE} model_transaction_policy { decoupled: true }`, DECOUPLED],
};

/** Writes the models into a repository; returns their names. */
export function writeModels(repository: string, python: boolean): string[] {
  const names = Object.keys(MODELS);
  for (const [name, config] of Object.entries(MODELS)) writeModel(repository, name, config);
  if (python) {
    for (const [name, [config, code]] of Object.entries(PYTHON_MODELS)) {
      writeModel(repository, name, config, code);
      names.push(name);
    }
  }
  return names;
}

function writeModel(repository: string, name: string, config: string, code?: string): void {
  const version = code === undefined ? { '1/': '' } : { '1/model.py': code };
  writeFiles(path.join(repository, name), { 'config.pbtxt': config, ...version });
}
