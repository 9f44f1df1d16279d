import type { Log } from '../../base/log.js';
import type { InferenceRequest, VerboseFront } from '../../contract/request.js';
import type { ModelPlan } from '../../modelconfig/plan/model-plan.js';
import { formatShape } from '../../protocol/datatype.js';
import { requestPrefix } from '../../protocol/infer/request-prefix.js';
import type { Tensor } from '../../protocol/tensor.js';
import type { ValidatedRequest } from './validate-request.js';

/** Where a request is on its way. */
export type RequestState = 'INITIALIZED' | 'PENDING' | 'EXECUTING' | 'RELEASED' | 'FAILED_ENQUEUE';

let addresses = 0x10_0000;

/**
 * A number in hexadecimal, another one each time. It stands in the verbose log where Triton prints the address of an object
 * in memory: this program has no such addresses, but something must distinguish the records (the buffer that is used and
 * the one that is given back), and programs that read Triton's log find records of the same form.
 */
export function nextAddress(): string {
  addresses += 64;
  return addresses.toString(16);
}

/** What records of a request say about its model. */
interface LoggedModel {
  readonly plan: ModelPlan;
  /** Its priority levels, 0n = none. */
  readonly levels: bigint;
}

/** The verbose records of one request at level 1. Exists only while they are shown. */
export class RequestLog {
  readonly #log: Log;
  readonly #prefix: string;
  readonly #front: VerboseFront | undefined;
  readonly #model: string;
  #state: RequestState = 'INITIALIZED';

  /** Reports a request of `model` that passed validation. */
  constructor(log: Log, model: LoggedModel, request: InferenceRequest, validated: ValidatedRequest) {
    this.#log = log;
    this.#prefix = requestPrefix(request.id);
    this.#front = request.verbose;
    this.#model = model.plan.name;
    this.enter('INITIALIZED');
    log.verbose(1, `${this.#prefix}prepared: ${description(model, request, validated)}`);
  }

  enter(state: RequestState): void {
    this.#log.verbose(1, `${this.#prefix}Setting state from ${this.#state} to ${state}`);
    this.#state = state;
  }

  /** The request and those of its batch go to an instance. */
  executing(instance: string, requests: number): void {
    this.#log.verbose(1, `model ${this.#model}, instance ${instance}, executing ${requests} requests`);
  }

  /** The instance is done with the batch. */
  released(instance: string, requests: number): void {
    this.#log.verbose(
      1,
      `TRITONBACKEND_ModelInstanceExecute: model instance name ${instance} released ${requests} requests`,
    );
  }

  /** The request has a slot of a sequence batcher. */
  slotted(id: bigint | string, instance: string, slot: number): void {
    this.#log.verbose(1, `Enqueuing CORRID ${id} into batcher ${instance}, sequence slot ${slot}: ${this.#model}`);
  }

  /** An output of an ensemble that none of its models put out. */
  missing(output: string): void {
    this.#log.verbose(1, `Composing models did not output tensor ${output}`);
  }

  outputs(tensors: readonly Tensor[]): void {
    for (const tensor of tensors) {
      logOutput(this.#log, tensor);
      this.#front?.output(tensor);
    }
  }
}

function description(
  { plan, levels }: LoggedModel,
  request: InferenceRequest,
  { batchSize, inputs, requestedOutputs }: ValidatedRequest,
) {
  const flags = (request.sequenceStart ? 1 : 0) | (request.sequenceEnd ? 2 : 0);
  const { id, correlationId, timeoutMicroseconds, verbose } = request;
  const version = verbose === undefined || verbose.requestedVersion === '' ? '-1' : verbose.requestedVersion;
  const address = () => `[0x0x${nextAddress()}]`;
  const lines = inputs.map(({ name, datatype, shape }) => {
    const whole = formatShape(shape);
    const own = formatShape(plan.maxBatchSize > 0 ? shape.slice(1) : shape);
    return `${address()} input: ${name}, type: ${datatype}, original shape: ${whole}, batch + shape: ${whole}, shape: ${own}\n`;
  });
  const wanted = (names: readonly string[]) => names.map((name) => `${name}\n`).join('');
  return (
    `${address()} request id: ${id}, model: ${plan.name}, requested version: ${version}, actual version: ${plan.version}, ` +
    `flags: 0x${flags.toString(16)}, correlation id: ${correlationId}, batch size: ${batchSize}, priority: ${levels === 0n ? 0 : request.priority}, ` +
    `timeout (us): ${timeoutMicroseconds}\noriginal inputs:\n${lines.join('')}override inputs:\ninputs:\n${lines.join('')}` +
    `original requested outputs:\n${wanted(request.requestedOutputs)}requested outputs:\n${wanted([...requestedOutputs].sort())}`
  );
}

/** Reports one output of a response. */
function logOutput(log: Log, { name, datatype, shape }: Tensor): void {
  log.verbose(1, `add response output: output: ${name}, type: ${datatype}, shape: ${formatShape(shape)}`);
}
