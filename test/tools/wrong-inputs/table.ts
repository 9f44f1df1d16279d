/** Command lines that users get wrong, and what comes of them. */

/**
 * `{http}`, `{grpc}`: ports of a server with the shipped models. `{closed}`: a port where nothing listens. `{here}`: the
 * working directory. `{help}`: the help of the image client.
 */
export type Row = readonly [
  line: string,
  status: number,
  /** All of standard error. */
  error: string,
  /** All of standard output, where that is what counts. */
  output?: string,
];

export const ROWS: readonly Row[] = [
  [
    'serv --model-repository=models',
    2,
    "triton: 'serv' is not a command. Did you mean 'serve'? Run 'triton --help' for details.\n",
  ],
  [
    'infer',
    2,
    "triton: 'infer' is not a command; there are serve, repo, doctor, image-client, perf. Run 'triton --help' for details.\n",
  ],
  [
    '--model-repository=models',
    2,
    "triton: '--model-repository=models' is not an option; there are serve, repo, doctor, image-client, perf. Run 'triton --help' for details.\n",
  ],
  [
    'serve --model-repositry=models',
    1,
    "triton serve: unrecognized option '--model-repositry=models'. Did you mean '--model-repository'? Run 'triton serve --help' for details.\n",
  ],
  [
    'serve --model-repository',
    1,
    "triton serve: option '--model-repository' requires an argument. Run 'triton serve --help' for details.\n",
  ],
  [
    'serve --model-repository=models --http-port=abc',
    1,
    `Bad option: "--http-port".
Invalid option value. Got abc

Run 'triton serve --help' for details.
`,
  ],
  [
    'serve --model-repository=models --http-port=70000',
    1,
    `Bad option: "--http-port".
Invalid option value. Got 70000, expected a port from 0 (any free port) to 65535

Run 'triton serve --help' for details.
`,
  ],
  [
    'serve --model-repository=models --http-port=9000 --grpc-port=9000',
    1,
    `The server cannot listen to HTTP requests and GRPC requests at the same address and port 0.0.0.0:9000
Run 'triton serve --help' for details.
`,
  ],
  [
    'serve --model-repository=models --load-model=simple',
    1,
    `Error: Use of '--load-model' requires setting '--model-control-mode=explicit' as well.
Run 'triton serve --help' for details.
`,
  ],
  [
    'serve --model-repository=models --model-control-mode=polling',
    1,
    `Bad option: "--model-control-mode".
invalid argument for --model-control-mode

Run 'triton serve --help' for details.
`,
  ],
  [
    'serve --model-repository=models --strict-readiness=maybe',
    1,
    `Bad option: "--strict-readiness".
invalid value for bool option: maybe

Run 'triton serve --help' for details.
`,
  ],
  [
    'serve --model-repository=models --exit-timeout-secs=soon',
    1,
    `Bad option: "--exit-timeout-secs".
Invalid option value. Got soon

Run 'triton serve --help' for details.
`,
  ],
  [
    'serve --model-repository=models --log-format=json',
    1,
    `Bad option: "--log-format".
invalid argument for --log-format

Run 'triton serve --help' for details.
`,
  ],
  [
    'serve --model-repository=models --backend-config=python',
    1,
    `Bad option: "--backend-config".
--backend-config option format is '<backend name>,<setting>=<value>'. Got python

Run 'triton serve --help' for details.
`,
  ],
  [
    'serve --model-repository=models --cache-config=local',
    1,
    `Bad option: "--cache-config".
No cache specified. --cache-config option format is <cache name>,<setting>=<value>. Got local

Run 'triton serve --help' for details.
`,
  ],
  [
    'serve --model-repository=models --http-restricted-api=predict:key=value',
    1,
    `Bad option: "--http-restricted-api".
unknown restricted api 'predict' 

Run 'triton serve --help' for details.
`,
  ],
  [
    'serve --model-repository=models --http-header-forward-pattern=(x',
    1,
    `Bad option: "--http-header-forward-pattern".
Invalid option value. Got (x, expected a regular expression of RE2: error parsing regexp: missing closing ): \`(?i)(x\`

Run 'triton serve --help' for details.
`,
  ],
  [
    'serve --model-repository=models --trace-config=level=ALL',
    1,
    `Bad option: "--trace-config level".
invalid value for trace level option: all

Run 'triton serve --help' for details.
`,
  ],
  [
    'serve --model-repository=models --rate-limit=on',
    1,
    `Bad option: "--rate-limit".
invalid argument for --rate-limit

Run 'triton serve --help' for details.
`,
  ],
  [
    'serve --model-repository=models --http-use-ssl=true',
    1,
    "triton serve: --http-use-ssl needs --http-server-cert and --http-server-key. Run 'triton serve --help' for details.\n",
  ],
  [
    'serve modells',
    1,
    `Unexpected argument: modells. It is not a directory of models.
Run 'triton serve --help' for details.
`,
  ],
  [
    'repo validat models',
    2,
    "triton repo: 'validat' is not a command. Did you mean 'validate'? Run 'triton repo --help' for details.\n",
  ],
  [
    'repo init',
    2,
    "triton repo init: missing required argument 'directory'. Run 'triton repo init --help' for details.\n",
  ],
  [
    'repo init models',
    1,
    "triton repo init: 'models' is not empty and nothing is overwritten; name a new or empty directory\n",
  ],
  [
    'repo init new other',
    2,
    "triton repo init: too many arguments. Expected 1 argument but got 2. Run 'triton repo init --help' for details.\n",
  ],
  ['repo init a.txt', 1, "triton repo init: 'a.txt' is a file or lies below one; name a new or empty directory\n"],
  [
    'repo add',
    2,
    "triton repo add: required option '--repository <directory>' not specified. Run 'triton repo add --help' for details.\n",
  ],
  [
    'repo add simple.onnx',
    2,
    "triton repo add: required option '--repository <directory>' not specified. Run 'triton repo add --help' for details.\n",
  ],
  ['repo add none.onnx --repository models', 1, "triton repo add: no such file or directory: 'none.onnx'\n"],
  ['repo add models --repository models', 1, "triton repo add: 'models' is a directory; name the .onnx file\n"],
  [
    'repo add a.txt --repository models',
    1,
    "triton repo add: 'a.txt' is not an ONNX model (onnx runtime error 7: Load model from a.txt failed:Protobuf parsing failed.: no field of a protobuf message at byte 1)\n",
  ],
  [
    'repo add empty.onnx --repository models',
    1,
    "triton repo add: 'empty.onnx' is not an ONNX model (onnx runtime error 1: Load model from empty.onnx failed:ModelProto does not have a graph.)\n",
  ],
  [
    'repo add simple.onnx --name simple --repository models',
    1,
    "triton repo add: 'models' has 'simple' already and nothing is overwritten; give another --name, or remove it first\n",
  ],
  [
    'repo add simple.onnx --name a/b --repository models',
    1,
    "triton repo add: 'a/b' cannot name a model: it must be the name of one directory\n",
  ],
  [
    'repo add simple.onnx --max-batch-size many --repository models',
    2,
    "triton repo add: --max-batch-size: expected a whole number from 0 to 2147483647, got 'many'. Run 'triton repo add --help' for details.\n",
  ],
  [
    'repo add simple.onnx --max-batch-size -1 --repository models',
    2,
    "triton repo add: --max-batch-size: expected a whole number from 0 to 2147483647, got '-1'. Run 'triton repo add --help' for details.\n",
  ],
  [
    'repo add --python --repository models',
    2,
    "triton repo add: --python takes --name and --repository alone. Run 'triton repo add --help' for details.\n",
  ],
  [
    'repo add --python simple.onnx --name p --repository models',
    2,
    "triton repo add: --python takes --name and --repository alone. Run 'triton repo add --help' for details.\n",
  ],
  ['repo add simple.onnx --repository a.txt', 1, "triton repo add: 'a.txt' is not a directory\n"],
  [
    'repo fetch',
    2,
    "triton repo fetch: a model must be named; --list shows them. Run 'triton repo fetch --help' for details.\n",
  ],
  [
    'repo fetch densnet_onnx --repository models',
    2,
    "triton repo fetch: no published model 'densnet_onnx'. Did you mean 'densenet_onnx'? Run 'triton repo fetch --help' for details.\n",
  ],
  [
    'repo fetch densenet_onnx',
    2,
    "triton repo fetch: --repository <directory> is missing. Run 'triton repo fetch --help' for details.\n",
  ],
  [
    'repo fetch densenet_onnx --repository models --catalog none.json',
    1,
    "triton repo fetch: the catalogue 'none.json' cannot be read: ENOENT: no such file or directory, open 'none.json'\n",
  ],
  [
    'repo fetch densenet_onnx --repository fetched --mirror http://127.0.0.1:{closed}',
    1,
    'triton repo fetch: cannot download from 127.0.0.1:{closed}: connect ECONNREFUSED 127.0.0.1:{closed}. Is there a network? Behind a proxy, set HTTPS_PROXY (and HTTP_PROXY); a mirror is named with --mirror. What has arrived is kept, and the next attempt goes on from there\n',
  ],
  [
    'repo list models --format yaml',
    2,
    "triton repo list: --format: expected text, json, got 'yaml'. Run 'triton repo list --help' for details.\n",
  ],
  [
    'repo show simpel --repository models',
    1,
    "triton repo show: no model 'simpel' in models; did you mean 'simple'?\n",
  ],
  [
    'repo show simple',
    2,
    "triton repo show: required option '--repository <directory>' not specified. Run 'triton repo show --help' for details.\n",
  ],
  [
    'repo show --repository models',
    2,
    "triton repo show: missing required argument 'model'. Run 'triton repo show --help' for details.\n",
  ],
  ['repo fmt none.pbtxt', 1, "triton repo fmt: no such file or directory: 'none.pbtxt'\n"],
  [
    'repo fmt a.txt',
    1,
    `a.txt:1:1: error: Message type "inference.ModelConfig" has no field named "not".
  help: The fields here are: name, platform, backend, runtime, version_policy, max_batch_size, input, output, batch_input, batch_output, optimization, dynamic_batching, sequence_batching, ensemble_scheduling, instance_group, default_model_filename, cc_model_filenames, metric_tags, parameters, model_warmup, model_operations, model_transaction_policy, model_repository_agents, response_cache, model_metrics.
`,
  ],
  [
    'repo fmt --chek models',
    2,
    "triton repo fmt: unknown option '--chek'. Did you mean '--check'? Run 'triton repo fmt --help' for details.\n",
  ],
  [
    'repo validate',
    2,
    "triton repo validate: missing required argument 'directory'. Run 'triton repo validate --help' for details.\n",
  ],
  [
    'repo validate none',
    1,
    '',
    `none: error: failed to stat file none [repository]
0 models: 1 error, 0 warnings
`,
  ],
  [
    'repo validate a.txt',
    1,
    '',
    `a.txt: error: repository path is not a valid directory [repository]
0 models: 1 error, 0 warnings
`,
  ],
  [
    'repo validate models --format xml',
    2,
    "triton repo validate: --format: expected text, json, sarif, github, got 'xml'. Run 'triton repo validate --help' for details.\n",
  ],
  [
    'repo validate models --gpus x',
    2,
    "triton repo validate: --gpus: expected the numbers of GPUs with commas between them, got 'x'. Run 'triton repo validate --help' for details.\n",
  ],
  [
    'doctor --format xml',
    2,
    "triton doctor: --format: expected text, json, got 'xml'. Run 'triton doctor --help' for details.\n",
  ],
  [
    'doctor now',
    2,
    "triton doctor: too many arguments. Expected 0 arguments but got 1. Run 'triton doctor --help' for details.\n",
  ],
  [
    'doctor --formt json',
    2,
    "triton doctor: unknown option '--formt'. Did you mean '--format'? Run 'triton doctor --help' for details.\n",
  ],
  [
    'perf',
    99,
    `Run 'triton perf --help' for details.
Error: Failed to parse -m (model name). The value must be specified.

`,
  ],
  ['perf --model-name simple', 99, "Error: Invalid long option '--model-name'\n"],
  ['perf -m', 99, "Error: Invalid short option '-m'\n"],
  [
    'perf -m simple -u 127.0.0.1:{closed}',
    99,
    `error: failed to get model metadata: HTTP client failed: Couldn't connect to server

`,
  ],
  [
    'perf -m simpel -u 127.0.0.1:{http}',
    99,
    `error: failed to get model metadata: Request for unknown model: 'simpel' is not found

`,
  ],
  [
    'perf -m simple -x 7 -u 127.0.0.1:{http}',
    99,
    `error: failed to get model metadata: Request for unknown model: 'simple' version 7 is not found

`,
  ],
  [
    'perf -m simple -i grpc -u 127.0.0.1:{http}',
    99,
    `error: failed to get model metadata: failed to connect to all addresses; last error: UNAVAILABLE: ipv4:127.0.0.1:{http}: Socket closed

`,
  ],
  [
    'perf -m simple -u 127.0.0.1:{grpc}',
    99,
    `error: failed to get model metadata: HTTP client failed: Unsupported protocol

`,
  ],
  [
    'perf -m simple -i https -u 127.0.0.1:{http}',
    99,
    `Run 'triton perf --help' for details.
Error: Failed to parse -i (protocol). The value should be either HTTP or gRPC.

`,
  ],
  [
    'perf -m simple -u 127.0.0.1:{http} -b 0',
    99,
    `Run 'triton perf --help' for details.
Error: Failed to parse -b (batch size). The value must be > 0.

`,
  ],
  [
    'perf -m simple -u 127.0.0.1:{http} -b 100 --request-count 1',
    99,
    `Failed to maintain requested inference load. Worker thread(s) failed to generate concurrent requests.
Thread [0] had error: [request id: <id_unknown>] inference request batch-size must be <= 8 for 'simple'


`,
  ],
  [
    'perf -m simple -u 127.0.0.1:{http} --concurrency-range 0',
    99,
    `Run 'triton perf --help' for details.
Error: The start of the search range must be > 0

`,
  ],
  [
    'perf -m simple -u 127.0.0.1:{http} --concurrency-range 4:1:1 --request-count 1',
    99,
    `Run 'triton perf --help' for details.
Error: --request-count can not be less than concurrency

`,
  ],
  [
    'perf -m simple -u 127.0.0.1:{http} --shape INPUT0 --request-count 1',
    99,
    `Run 'triton perf --help' for details.
Error: Failed to parse --shape. There must be a colon after input name.

`,
  ],
  [
    'perf -m simple_identity -u 127.0.0.1:{http} --request-count 1',
    99,
    `error: Failed to init manager inputs: input INPUT0 contains dynamic shape, provide shapes to send along with the request


`,
  ],
  [
    'perf -m simple -u 127.0.0.1:{http} --input-data none.json --request-count 1',
    99,
    `Run 'triton perf --help' for details.
Error: Failed to parse --input-data. Unsupported type provided: 'none.json'. The available options are 'zero', 'random', path to a directory, or a json file.

`,
  ],
  [
    'perf -m simple -u 127.0.0.1:{http} --input-data a.txt --request-count 1',
    99,
    `cb::Error  : 3
Offset : 1
error: Failed to init manager inputs: failed to parse the specified json file for reading provided data


`,
  ],
  [
    'perf -m simple -u 127.0.0.1:{http} --input-data wrong-name.json --request-count 1',
    99,
    `error: Failed to init manager inputs: The input or output 'INPUT_0' is not found in the model configuration


`,
  ],
  [
    'perf -m simple -u 127.0.0.1:{http} --input-data too-short.json --request-count 1',
    99,
    `error: Failed to init manager inputs: mismatch in the data provided for INPUT0. Expected: 64 bytes, Got: 12 bytes


`,
  ],
  [
    'perf -m simple -u 127.0.0.1:{http} --input-data empty --request-count 1',
    99,
    `error: Failed to init manager inputs: failed to open file 'empty/INPUT0'


`,
  ],
  [
    'perf -m simple -u 127.0.0.1:{http} -f none/report.csv --request-count 1',
    99,
    "error: cannot write the report 'none/report.csv': the directory 'none' does not exist; make it, or name another file with -f\n",
  ],
  [
    'perf -m simple -u 127.0.0.1:{http} -f models --request-count 1',
    99,
    "error: cannot write the report 'models': it is a directory; name a file in it\n",
  ],
  [
    'perf -m simple -u 127.0.0.1:{http} --streaming --request-count 1',
    99,
    `Run 'triton perf --help' for details.
Error: Streaming is only allowed with gRPC protocol and Triton C API.

`,
  ],
  [
    'perf -m simple -u 127.0.0.1:{http} --percentile 101',
    99,
    `Run 'triton perf --help' for details.
Error: Failed to parse --percentile. The value must be -1 for not reporting or in range (0, 100).

`,
  ],
  [
    'perf -m simple -u 127.0.0.1:{http} --measurement-interval soon',
    99,
    `Run 'triton perf --help' for details.
Error: Failed to parse --measurement-interval. Invalid value provided: soon

`,
  ],
  [
    'perf -m simple -u 127.0.0.1:{http} --service-kind tritn',
    99,
    `Run 'triton perf --help' for details.
Error: Failed to parse --service-kind. Unsupported type provided: 'tritn'. The available options are 'triton', 'tfserving', 'torchserve', or 'triton_c_api'.

`,
  ],
  [
    'perf -m simple -u 127.0.0.1:{http} --shared-memory cuda --request-count 1',
    99,
    `Run 'triton perf --help' for details.
Error: CUDA shared memory is not supported when building with \`cmake -D TRITON_ENABLE_GPU=OFF ...\`. Install CUDA runtime library (e.g. \`apt install nvidia-cuda-toolkit\`) then recompile with \`cmake -D TRITON_ENABLE_GPU=ON ...\`.

`,
  ],
  [
    'perf -m simple -u 127.0.0.1:{http} --request-intervals none.txt',
    99,
    `Run 'triton perf --help' for details.
Error: Failed to parse --request-intervals. The value must be a valid file path

`,
  ],
  [
    'image-client',
    1,
    `error: -m flag must be specified
{help}
`,
  ],
  [
    'image-client mug.jpg',
    1,
    `error: -m flag must be specified
{help}
`,
  ],
  [
    'image-client -m densenet_onnx -u 127.0.0.1:{http} none.jpg',
    1,
    "Failed to find 'none.jpg': No such file or directory\n",
  ],
  ['image-client -m densenet_onnx -u 127.0.0.1:{http} a.txt', 1, 'error: unable to decode image a.txt\n'],
  [
    'image-client -m densenet_onnx -u 127.0.0.1:{http} -s IMAGENET mug.jpg',
    1,
    'unexpected scale type "IMAGENET", expecting NONE, INCEPTION or VGG\n',
  ],
  [
    'image-client -m densenet_onnx -u 127.0.0.1:{http} -c many mug.jpg',
    1,
    `error: topk must be > 0
{help}
`,
  ],
  [
    'image-client -m densenet_onnx -u 127.0.0.1:{http} -b 0 mug.jpg',
    1,
    `error: batch size must be > 0
{help}
`,
  ],
  [
    'image-client -m densenet_onnx -u 127.0.0.1:{http} -i http2 mug.jpg',
    1,
    'unexpected protocol type "http2", expecting HTTP or gRPC\n',
  ],
  [
    'image-client -m densenet_onnx -u 127.0.0.1:{http} -a --streaming mug.jpg',
    1,
    `error: Streaming is only allowed with gRPC protocol
{help}
`,
  ],
  [
    'image-client -m densenet_onnx -u 127.0.0.1:{http} -p none/raw.bin mug.jpg',
    1,
    'error: unable to write preprocessed image to none/raw.bin: No such file or directory\n',
  ],
  [
    'image-client -m densenet_onnx -u 127.0.0.1:{closed} mug.jpg',
    1,
    `error: failed to get model metadata: HTTP client failed: Couldn't connect to server (connect ECONNREFUSED 127.0.0.1:{closed})
error: failed to get model config: HTTP client failed: Couldn't connect to server (connect ECONNREFUSED 127.0.0.1:{closed})
expecting 1 input, got 0
`,
  ],
  [
    'image-client -m densenet_onnx -u 127.0.0.1:{http} -x 9 mug.jpg',
    1,
    `error: failed to get model metadata: Request for unknown model: 'densenet_onnx' version 9 is not found
error: failed to get model config: Request for unknown model: 'densenet_onnx' version 9 is not found
expecting 1 input, got 0
`,
  ],
  [
    'image-client -m simple_identity -u 127.0.0.1:{http} mug.jpg',
    1,
    "expecting output datatype to be FP32, model 'simple_identity' output type is 'BYTES'\n",
  ],
  [
    'image-client --model densenet_onnx mug.jpg',
    1,
    `triton image-client: unrecognized option '--model'
{help}
`,
  ],
  [
    'repo validate bad/no-version',
    1,
    '',
    `bad/no-version/m: error: Invalid model name: Could not determine backend for model 'm' with no backend in model configuration. Expected model name of the form 'model.<backend_name>'. [backend-unknown]
  help: Move bad/no-version/m/model.onnx into a version directory: mkdir bad/no-version/m/1 && mv bad/no-version/m/model.onnx bad/no-version/m/1/model.onnx
1 model: 1 error, 0 warnings
`,
  ],
  [
    'repo validate bad/near-backend',
    1,
    '',
    `bad/near-backend/m/config.pbtxt:1:10: error: unable to find backend library for backend 'onnx', try specifying runtime on the model configuration. [backend-library]
    backend: "onnx"
             ^
  help: Did you mean 'onnxruntime'?
1 model: 1 error, 0 warnings
`,
  ],
  [
    'repo validate bad/zero-dim',
    1,
    '',
    `bad/zero-dim/m/config.pbtxt:3:48: error: model input 'I' dimension must be integer >= 1, or -1 to indicate a variable-size dimension for m [tensor-dims]
    input { name: "I" data_type: TYPE_FP32 dims: [ 0 ] }
                                                   ^
  help: 0 is not a size: write the number of elements, or -1 where it differs from request to request.
1 model: 1 error, 0 warnings
`,
  ],
  [
    'repo validate bad/short-type',
    1,
    '',
    `bad/short-type/m/config.pbtxt:3:30: error: Unknown enumeration value of "FP32" for field "data_type". [config-syntax]
    input { name: "I" data_type: FP32 dims: [ 4 ] }
                                 ^
  server: failed to read text proto from bad/short-type/m/config.pbtxt
  help: Did you mean 'TYPE_FP32'?
1 model: 1 error, 0 warnings
`,
  ],
  [
    'repo validate bad/open-brace',
    1,
    '',
    `bad/open-brace/m/config.pbtxt:4:1: error: Message type "inference.ModelInput" has no field named "output". [config-syntax]
    output { name: "O" data_type: TYPE_FP32 dims: [ 4 ] }
    ^
  server: failed to read text proto from bad/open-brace/m/config.pbtxt
  help: The { of 'input' in line 3 is not closed: write } before this.
1 model: 1 error, 0 warnings
`,
  ],
  [
    'repo validate bad/parameters',
    1,
    '',
    `bad/parameters/m/config.pbtxt:5:14: error: Expected identifier, got: "depth" [config-syntax]
    parameters { "depth": "4" }
                 ^
  server: failed to read text proto from bad/parameters/m/config.pbtxt
  help: Write each entry as parameters { key: "..." value: { string_value: "..." } }.
1 model: 1 error, 0 warnings
`,
  ],
  [
    'repo validate bad/other-name',
    1,
    '',
    `bad/other-name/m/config.pbtxt:1:7: error: unexpected directory name 'm' for model 'n', directory name must equal model name [directory-name]
    name: "n"
          ^
  help: Write name: "m", leave 'name' out, or rename the directory.
1 model: 1 error, 0 warnings
`,
  ],
  [
    'repo validate bad/warm-up',
    1,
    '',
    `bad/warm-up/m/config.pbtxt:5:40: error: [request id: <id_unknown>] expected 1 inputs but got 0 inputs for model 'm'. Got input(s) [], but missing required input(s) ['I']. Please provide all required input(s). [warmup-sample]
    model_warmup { name: "w" batch_size: 1 inputs { key: "X" value { data_type: TYPE_FP32 dims: [ 4 ] zero_data: true } } }
                                           ^
  help: 'X' is not an input of this model, whose inputs are 'I'. Did you mean 'I'?
1 model: 1 error, 0 warnings
`,
  ],
  [
    'repo validate bad/labels',
    1,
    '',
    `bad/labels/m/config.pbtxt:4:69: error: failed to open text file for read bad/labels/m/names.txt: No such file or directory [label-file]
    output { name: "O" data_type: TYPE_FP32 dims: [ 4 ] label_filename: "names.txt" }
                                                                        ^
  help: The name counts from the model's directory, not from the version's.
1 model: 1 error, 0 warnings
`,
  ],
  [
    'repo validate bad/pointer',
    1,
    '',
    `bad/pointer/m/1/model.onnx: error: onnx runtime error 7: Load model from bad/pointer/m/1/model.onnx failed:Protobuf parsing failed. [model-file-lfs]
  help: model file 'bad/pointer/m/1/model.onnx' is a Git LFS pointer, not the model. Fetch the content with 'git lfs pull'.
1 model: 1 error, 0 warnings
`,
  ],
  [
    'repo validate bad/wrong-input',
    1,
    '',
    `bad/wrong-input/m/config.pbtxt:6:11: error: unexpected inference input 'INPUT_0', allowed inputs are: INPUT0, INPUT1 [onnx-unknown-input]
        name: "INPUT_0"
              ^
  help: Did you mean 'INPUT0'?
bad/wrong-input/m/config.pbtxt:11:11: error: unexpected inference input 'INPUT_1', allowed inputs are: INPUT0, INPUT1 [onnx-unknown-input]
        name: "INPUT_1"
              ^
  help: Did you mean 'INPUT1'?
1 model: 2 errors, 0 warnings
`,
  ],
  [
    'repo validate bad/new-ir',
    1,
    '',
    `bad/new-ir/m/1/model.onnx: error: onnx runtime error 1: Load model from bad/new-ir/m/1/model.onnx failed:/onnxruntime_src/onnxruntime/core/graph/model.cc:202 onnxruntime::Model::Model(onnx::ModelProto&&, const onnxruntime::PathString&, const onnxruntime::IOnnxRuntimeOpSchemaRegistryList*, const onnxruntime::logging::Logger&, const onnxruntime::ModelOptions&) Unsupported model IR version: 99, max supported IR version: 13 [onnx-file]
  help: The file was written in a newer ONNX format (IR version 99); export it with IR version 13 or lower: model.ir_version = 13, or an older onnx package.
1 model: 1 error, 0 warnings
`,
  ],
  [
    'repo validate bad/bfloat16',
    1,
    '',
    `bad/bfloat16/m: error: unsupported datatype TYPE_BF16 for input 'I' for model 'm': onnxruntime-node cannot carry such tensors; let the model cast it to TYPE_FP32 [onnx-datatype]
  help: Let the model's input be FP32 and cast inside the graph (an ONNX Cast node), or export the model in FP32 or FP16.
bad/bfloat16/m: error: unsupported datatype TYPE_BF16 for output 'O' for model 'm': onnxruntime-node cannot carry such tensors; let the model cast it to TYPE_FP32 [onnx-datatype]
  help: Let the model's output be FP32 and cast inside the graph (an ONNX Cast node), or export the model in FP32 or FP16.
1 model: 2 errors, 0 warnings
`,
  ],
  [
    'repo validate bad/no-weights',
    1,
    '',
    `bad/no-weights/m/1/model.onnx: error: onnx runtime error 1: External data path validation failed for initializer: w. Error: tensorprotoutils.cc:461 ValidateExternalDataPathFromDir External data path does not exist: "{here}/bad/no-weights/m/1/weights.bin" [onnx-file]
  help: The weights lie in a second file, which is missing: copy {here}/bad/no-weights/m/1/weights.bin beside the model, under the same name.
1 model: 1 error, 0 warnings
`,
  ],
];

/** Arguments of a server that does not come up, and the last line of standard error, of a record of the log its message; the status is 1. */
export const STARTS: readonly (readonly [args: string, error: string])[] = [
  [
    '--model-repository=modells',
    "error: creating server: Internal - failed to stat file modells. There is no such directory; the nearest that exists is '{here}'. Model repositories there: '{here}/models'.",
  ],
  [
    '--model-repository=a.txt',
    "error: creating server: Invalid argument - repository path is not a valid directory. 'a.txt' is a file; a model repository is a directory of model directories.",
  ],
  [
    '--model-repository=models/simple',
    "error: creating server: Internal - failed to load all models. 'models/simple' is the directory of one model; the repository is the directory above: --model-repository=models",
  ],
  [
    '--model-repository=models --http-address=127.0.0.1 --grpc-port=0 --metrics-port=0 --http-port={http}',
    `"failed to start HTTP service: Unavailable - Socket '127.0.0.1:{http}' already in use "`,
  ],
  [
    '--model-repository=models --http-use-ssl=true --http-server-cert=none.pem --http-server-key=none.pem --http-port=0 --grpc-port=0 --metrics-port=0',
    `"failed to start HTTP service: Invalid argument - failed to read 'none.pem': ENOENT: no such file or directory, open 'none.pem'"`,
  ],
];
