import path from 'node:path';
import { writeFiles } from '../../../test/support/machine/temporary-directory.js';
import { initializer, node, onnxModel } from '../../../test/support/repositories/onnx-builder.js';

const INT32 = 6;
const STRING = 8;
const IO = (type: string, dims: string): string =>
  `input { name: "IN" data_type: ${type} dims: ${dims} } output { name: "OUT" data_type: ${type} dims: ${dims} }`;
const ONE = 'instance_group { count: 1 kind: KIND_CPU }';
const ONNX =
  'backend: "onnxruntime" max_batch_size: 16 instance_group { count: 2 kind: KIND_CPU } dynamic_batching { max_queue_delay_microseconds: 300 }';

const identity = (type: number): Uint8Array =>
  onnxModel({ inputs: [{ name: 'IN', type, dims: ['B', 'N'] }], outputs: [{ name: 'OUT', type, dims: ['B', 'N'] }] });

/** OUT = IN + SUM, which is the next SUM. */
const SUM = onnxModel({
  inputs: ['IN', 'SUM'].map((name) => ({ name, type: INT32, dims: ['B', 4] })),
  outputs: ['OUT', 'SUM_OUT'].map((name) => ({ name, type: INT32, dims: ['B', 4] })),
  graph: [
    initializer('ZERO', [1], new Uint8Array(4), INT32),
    node('Add', ['IN', 'SUM'], ['OUT']),
    node('Add', ['OUT', 'ZERO'], ['SUM_OUT']),
  ],
});

const sums = (strategy: string): string => `backend: "onnxruntime" max_batch_size: 4 ${ONE} ${IO('TYPE_INT32', '[4]')}
  sequence_batching { max_sequence_idle_microseconds: 60000000 ${strategy}
    state { input_name: "SUM" output_name: "SUM_OUT" data_type: TYPE_INT32 dims: [4] } }`;

const step = (model: string, from: string, to: string): string =>
  `step { model_name: "${model}" model_version: -1 input_map { key: "IN" value: "${from}" } output_map { key: "OUT" value: "${to}" } }`;

const HEAD = 'import numpy as np\nimport triton_python_backend_utils as pb_utils\n';

/** A thread for each request; the input is changed in place before it is sent, and again afterwards. */
const THREADS = `${HEAD}import threading


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            threading.Thread(target=self.respond, args=(request,)).start()
        return None

    def respond(self, request):
        tensor = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy().copy()
        tensor += 7
        sender = request.get_response_sender()
        sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", tensor)]),
                    flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        tensor += 1000
`;

/** The beginning of a model whose `respond` runs in a pool of threads. */
const POOLED = `${HEAD}from concurrent.futures import ThreadPoolExecutor


class TritonPythonModel:
    def initialize(self, args):
        self.pool = ThreadPoolExecutor(8)

    def execute(self, requests):
        for request in requests:
            self.pool.submit(self.respond, request)
        return None

`;

/** Four responses to each request, from a pool of threads; the same array is changed between them. */
const DECOUPLED = `${POOLED}    def respond(self, request):
        tensor = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy().copy()
        sender = request.get_response_sender()
        for _ in range(4):
            tensor += 1
            sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", tensor)]))
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
`;

/** Calls another model from a pool of threads, with what only this request has. */
const CALLS = `${POOLED}    def respond(self, request):
        sender = request.get_response_sender()
        try:
            tensor = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
            call = pb_utils.InferenceRequest(
                model_name="wide", requested_output_names=["OUT"], inputs=[pb_utils.Tensor("IN", tensor + 5)])
            response = call.exec()
            if response.has_error():
                raise pb_utils.TritonModelException(response.error().message())
            result = pb_utils.get_output_tensor_by_name(response, "OUT").as_numpy() + 6
            answer = pb_utils.InferenceResponse([pb_utils.Tensor("OUT", result)])
        except Exception as error:
            answer = pb_utils.InferenceResponse([], error=pb_utils.TritonError(str(error)))
        sender.send(answer, flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
`;

const PYTHON = `backend: "python" ${ONE} ${IO('TYPE_INT32', '[-1]')} model_transaction_policy { decoupled: true } max_batch_size: 8`;

/** name -> configuration and the model's file. */
const MODELS: Readonly<Record<string, readonly [config: string, file?: string, content?: string | Uint8Array]>> = {
  wide: [`backend: "identity" max_batch_size: 8 ${IO('TYPE_INT32', '[-1]')}`],
  texts: [`backend: "identity" max_batch_size: 8 ${IO('TYPE_STRING', '[-1]')}`],
  cached: [`${ONNX} ${IO('TYPE_INT32', '[-1]')} response_cache { enable: true }`, 'model.onnx', identity(INT32)],
  numbers: [`${ONNX} ${IO('TYPE_INT32', '[-1]')}`, 'model.onnx', identity(INT32)],
  strings: [`${ONNX} ${IO('TYPE_STRING', '[-1]')}`, 'model.onnx', identity(STRING)],
  naming_chain: [
    `platform: "ensemble" max_batch_size: 8 ${IO('TYPE_INT32', '[-1]')}
     ensemble_scheduling { ${step('numbers', 'IN', 'A')} ${step('wide', 'A', 'B')} ${step('numbers', 'B', 'OUT')} }`,
  ],
  sums_direct: [sums('direct {}'), 'model.onnx', SUM],
  sums_oldest: [sums('oldest { max_candidate_sequences: 8 max_queue_delay_microseconds: 500 }'), 'model.onnx', SUM],
};
const PYTHON_MODELS: typeof MODELS = {
  python_threads: [PYTHON.replace('model_transaction_policy { decoupled: true }', ''), 'model.py', THREADS],
  python_decoupled: [PYTHON, 'model.py', DECOUPLED],
  python_calls: [PYTHON.replace('model_transaction_policy { decoupled: true }', ''), 'model.py', CALLS],
};

/** Writes the models whose responses name their request. */
export function writeNamingModels(repository: string, python: boolean): void {
  for (const [name, [config, file, content]] of Object.entries({ ...MODELS, ...(python ? PYTHON_MODELS : {}) })) {
    const version = file === undefined || content === undefined ? { '1/': '' } : { [`1/${file}`]: content };
    writeFiles(path.join(repository, name), { 'config.pbtxt': `${config}\n`, ...version });
  }
}
