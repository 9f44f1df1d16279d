import type { InferenceRequest } from '../../contract/request.js';
import type { RegionLease, SharedMemoryPlace } from '../../protocol/infer/shared-memory.js';

/** How the client wants one output. */
export interface OutputForm {
  /** HTTP: as a blob behind the JSON part; gRPC knows no other form. */
  readonly binary: boolean;
  /** Number of classes wanted instead of the tensor; 0 = the tensor itself. */
  readonly classification: number;
  readonly sharedMemory?: SharedMemoryPlace;
}

/** A decoded request and what its response has to look like. */
export interface DecodedInferRequest {
  readonly request: InferenceRequest;
  /** Forms of the listed outputs by name; outputs not listed use `defaultForm`. */
  readonly forms: ReadonlyMap<string, OutputForm>;
  readonly defaultForm: OutputForm;
  /** What the request uses of shared memory; to be released after the last response by the code that decoded it. */
  readonly sharedMemory?: RegionLease;
}

/** The tensor as JSON. */
export const JSON_FORM: OutputForm = { binary: false, classification: 0 };

/** The tensor as bytes. */
export const BINARY_FORM: OutputForm = { binary: true, classification: 0 };

/** No listed outputs. */
export const NO_FORMS: ReadonlyMap<string, OutputForm> = new Map();

/** The form of an output. */
export function formOf(decoded: DecodedInferRequest, output: string): OutputForm {
  return decoded.forms.size === 0 ? decoded.defaultForm : (decoded.forms.get(output) ?? decoded.defaultForm);
}
