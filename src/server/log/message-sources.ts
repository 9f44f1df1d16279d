/**
 * The one table of log messages: what each message shows as its source. `file` is the source file of NVIDIA Triton Inference
 * Server (triton-inference-server: server, core and backend repositories) that logs the same, because people filter logs by
 * these names, or `triton.ts` for messages that Triton does not have. `number` stands where Triton shows a line of its file:
 * it names the message, within its file, for good. A new message gets the next number of its file; a message that goes
 * leaves its number unused.
 */

/** How a message begins, or a pattern of it where it begins with a name. The id of a request in front does not count. */
type Beginning = string | RegExp;

const MESSAGES: Readonly<Record<string, readonly (readonly [number: number, message: Beginning])[]>> = {
  'backend_model.cc': [
    [1, 'TRITONBACKEND_ModelInstanceInitialize: '],
    [2, 'ERROR: Failed to create instance: '],
    [3, 'failed to end an instance: '],
    [4, /^failed to end '/],
    [5, /^model '.*' cannot run here: /],
    [6, 'skipping batch 0 warmup sample '],
    [7, 'skipping model configuration auto-complete for '],
    [8, 'autofilled max_batch_size to '],
    [9, /^model .*, instance .*, executing \d+ requests$/],
    [10, 'TRITONBACKEND_ModelInstanceExecute: '],
    [11, 'Adding default backend config setting: '],
    [12, 'Found overwritten default setting: '],
    [13, /^model '.*' instance .* is running warmup sample '/],
  ],
  'cache_manager.cc': [[1, 'Failed to insert key ']],
  'dynamic_batch_scheduler.cc': [[1, 'Starting dynamic-batcher thread for ']],
  'ensemble_scheduler.cc': [
    [1, /^Ensemble model '.*' configured with max_inflight_requests: /],
    [2, '[Internal Error] Ensemble '],
    [3, 'Composing models did not output tensor '],
  ],
  'grpc_server.cc': [
    [1, 'Started GRPCInferenceService at '],
    [2, 'gRPC handler failed: '],
    [3, /^Timeout \d+: Found \d+ gRPC service connections/],
    [4, 'stream of a gRPC client ended: '],
  ],
  'http_server.cc': [
    [1, 'Started HTTPService at '],
    [2, 'Started Metrics Service at '],
    [3, 'HTTP handler failed: '],
    [4, 'HTTP request: '],
    [5, 'HTTP using buffer for: '],
    [6, 'HTTP release: '],
    [7, /^Timeout \d+: Found \d+ HTTP service connections/],
    [8, 'Infer failed: '],
    [9, /^stream of model '.*' ended: /],
  ],
  'infer_handler.cc': [
    [1, 'GRPC: using buffer for '],
    [2, 'GRPC free: '],
    [3, 'Cancellation notification received for '],
    [4, 'Delaying '],
  ],
  'infer_request.cc': [
    [1, 'prepared: '],
    [2, 'Setting state from '],
    [3, 'Failed to release request: '],
    [4, 'failed to cancel a request of model '],
    [5, 'failed to deliver a response to a request of model '],
    [6, /^model '.*' sent another response to a request after its final response/],
    [7, /^model '.*' put a request back into its queue after its final response/],
  ],
  'infer_response.cc': [[1, 'add response output: ']],
  'metrics.cc': [
    [1, 'Collecting CPU metrics'],
    [2, 'Metric family '],
    [3, 'Invalid option: ['],
  ],
  'model_lifecycle.cc': [
    [1, 'loading: '],
    [2, 'successfully loaded '],
    [3, /^failed to load '.*' version /],
    [4, 'failed to load model '],
    [5, 'failed to load '],
    [6, 'successfully unloaded '],
    [7, 'failed to unload '],
    [8, 'ignore version directory '],
    [9, /^version \d+ is specified for model /],
  ],
  'model_repository_manager.cc': [
    [1, 'Poll failed for model directory '],
    [2, 'failed to poll model repository: '],
    [3, 'failed to poll model repository '],
    [4, /^failed to poll model '.*': not unique across all model repositories/],
    [5, 'failed to poll model '],
    [6, 'Failed to determine modification time for '],
    [7, 'failed to remove the temporary directory '],
    [8, /^the link '.*' leads nowhere /],
    [9, /^the directory '.*' is taken for a model/],
  ],
  'onnxruntime.cc': [[1, 'Configuring ']],
  'rate_limiter.cc': [[1, '\nMax Resource Map===>']],
  'sequence_batch_scheduler.cc': [
    [1, 'Enqueuing CORRID '],
    [2, /^sequence .* for model '.*' has a conflict\. /],
    [3, 'Failed to reschedule request: '],
    [4, 'Failed to initialize sequence state: '],
    [5, /^Detected duplicate '.*' in the state configuration: /],
  ],
  'server.cc': [
    [1, '| Repository Agent '],
    [2, '| Backend '],
    [3, '| Model '],
    [4, '| Option '],
    [5, 'Waiting for in-flight requests to complete.'],
    [6, /^Timeout \d+: Found \d+ live models and /],
    [7, /^Timeout \d+: Found \d+ model versions that have in-flight inferences/],
    [8, 'All models are stopped, unloading models'],
    [9, 'No server context available. Exiting immediately.'],
    [10, 'failed to stop server: '],
    [11, /^failed to start \w+ service: /],
    [12, /^Model '.*' \(version .*\) has \d+ in-flight inferences$/],
  ],
  'tracer.cc': [
    [1, 'failed creating trace file: '],
    [2, 'Tensor level tracing is not supported by the mode: opentelemetry'],
    [3, /^\d+ spans were dropped: /],
    [4, /^\d+ spans could not be sent to /],
  ],
  'tritonserver.cc': [[1, /^(Internal|Not found|Invalid argument|Unavailable|Unsupported|Already exists|Unknown): /]],
  'triton.ts': [
    [1, 'Check --model-repository: '],
    [2, /^No models: the model repository '/],
    [3, /^\d+ log records could not be written and were dropped: /],
    [4, /^the log file '.*' cannot be opened: /],
    [5, /^model '.*' version \d+ moves /],
    [6, /^'.*' gave no sign of life for /],
    [7, 'a model is still running and cannot be interrupted: '],
    [8, /^'.*' stays down: /],
    [9, /^cannot start '.*' again: /],
    [10, / and is started again\.$/],
    [11, /^\d+ more times within a minute: /],
    [12, /^\d+ more errors of other texts within a minute$/],
    [13, 'fetching model '],
  ],
};

interface Entry {
  readonly message: Beginning;
  readonly source: string;
}

const ENTRIES: readonly Entry[] = Object.entries(MESSAGES).flatMap(([file, messages]) =>
  messages.map(([number, message]) => ({ message, source: `${file}:${number}` })),
);

/** What stands in front of a message of one request: `[request id: 7] `. */
const REQUEST_ID = '[request id: ';

/** The source of a message, as `file:number`; `triton.ts:0` for one that is not in the table, like those of models. */
export function sourceOf(message: string): string {
  const end = message.startsWith(REQUEST_ID) ? message.indexOf('] ') : -1;
  const text = end < 0 ? message : message.slice(end + 2);
  for (const { message, source } of ENTRIES) {
    if (typeof message === 'string' ? text.startsWith(message) : message.test(text)) return source;
  }
  return 'triton.ts:0';
}
