/** The parameters of a ModelInferRequest. */
import { invalidArg } from '../../../base/error.js';
import { checkCorrelationId, NO_SETTINGS, type RequestSettings } from '../../../protocol/infer/parameters.js';
import type { InferRequestMessage, ParameterMap, ParameterMessage } from '../../../protocol/proto/infer/infer-types.js';
import type { ParameterValue } from '../../../protocol/tensor.js';

/** Name of the request parameter that asks a stream for the empty response with the final flag. */
const EMPTY_FINAL_RESPONSE = 'triton_enable_empty_final_response';

/** True when a request of a stream asks for the empty response with the final flag. */
export function wantsEmptyFinalResponse(message: InferRequestMessage): boolean {
  return message.parameters.get(EMPTY_FINAL_RESPONSE)?.value === true;
}

/** Everything of a request that its parameters set. */
export function readGrpcSettings(parameters: ParameterMap): Readonly<RequestSettings> {
  if (parameters.size === 0) return NO_SETTINGS;
  const custom: (readonly [string, ParameterValue])[] = [];
  const settings: RequestSettings = { ...NO_SETTINGS, parameters: custom };
  for (const [name, parameter] of parameters) {
    switch (name) {
      case 'sequence_id':
        if (parameter.kind === 'int64') settings.correlationId = BigInt.asUintN(64, parameter.value);
        else if (parameter.kind === 'string') settings.correlationId = checkCorrelationId(parameter.value);
        else wrongKind(name, 'int64_param or string_param');
        break;
      case 'sequence_start':
        settings.sequenceStart = parameter.kind === 'bool' ? parameter.value : wrongKind(name, 'bool_param');
        break;
      case 'sequence_end':
        settings.sequenceEnd = parameter.kind === 'bool' ? parameter.value : wrongKind(name, 'bool_param');
        break;
      case 'priority':
        settings.priority = readPriority(parameter);
        break;
      case 'timeout':
        // Triton keeps it unsigned: a negative one is far beyond every default and thus without effect.
        settings.timeoutMicroseconds =
          parameter.kind === 'int64' ? BigInt.asUintN(64, parameter.value) : wrongKind(name, 'int64_param');
        break;
      case EMPTY_FINAL_RESPONSE:
        if (parameter.kind !== 'bool') wrongKind(name, 'bool_param');
        break;
      default:
        custom.push([name, readCustom(name, parameter)]);
    }
  }
  return settings;
}

function wrongKind(name: string, expected: string): never {
  throw invalidArg(`invalid value type for '${name}' parameter, expected ${expected}.`);
}

function readPriority(parameter: ParameterMessage): bigint {
  if (parameter.kind === 'uint64') return parameter.value;
  if (parameter.kind !== 'int64') return wrongKind('priority', 'int64_param or uint64_param');
  if (parameter.value < 0n) throw invalidArg("invalid value for 'priority', expected value >= 0.");
  return parameter.value;
}

function readCustom(name: string, parameter: ParameterMessage): ParameterValue {
  if (name.startsWith('triton_')) {
    throw invalidArg(
      `parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with 'triton_' are allowed: ${EMPTY_FINAL_RESPONSE}`,
    );
  }
  if (parameter.kind === 'uint64' || parameter.kind === 'none') {
    return wrongKind(name, 'int64_param, bool_param, or string_param');
  }
  return parameter.value;
}
