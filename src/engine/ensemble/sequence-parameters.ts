import { invalidArg } from '../../base/error.js';
import type { Parameters } from '../../protocol/tensor.js';

/** A request's position in a sequence. */
export interface SequencePlace {
  readonly correlationId: bigint | string;
  readonly sequenceStart: boolean;
  readonly sequenceEnd: boolean;
}

/**
 * The position in a sequence that a model's response gives to the steps behind it; undefined when it gives none, so that
 * the ensemble's own request decides. Throws INVALID_ARG for a wrong type.
 */
export function sequencePlaceOf(parameters: Parameters): SequencePlace | undefined {
  let place: SequencePlace | undefined;
  for (const [name, value] of parameters) {
    const base = place ?? { correlationId: 0n, sequenceStart: false, sequenceEnd: false };
    if (name === 'sequence_id') {
      if (typeof value !== 'bigint' && typeof value !== 'string') {
        throw invalidArg(
          "expected parameter 'sequence_id' to be TRITONSERVER_PARAMETER_INT or TRITONSERVER_PARAMETER_STRING",
        );
      }
      place = { ...base, correlationId: value };
    } else if (name === 'sequence_start') {
      place = { ...base, sequenceStart: flag(name, value) };
    } else if (name === 'sequence_end') {
      place = { ...base, sequenceEnd: flag(name, value) };
    }
  }
  return place;
}

/** The parameters that every response of an ensemble carries. */
export function sequenceParameters(place: SequencePlace): Parameters {
  return [
    ['sequence_id', place.correlationId],
    ['sequence_start', place.sequenceStart],
    ['sequence_end', place.sequenceEnd],
  ];
}

function flag(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw invalidArg(`expect parameter '${name}' to be TRITONSERVER_PARAMETER_BOOL`);
}
