import type { InferenceRequest } from '../../engine/request.js';

/** A place in a registered shared memory region. */
export interface SharedMemoryPlace {
  readonly region: string;
  readonly offset: number;
  readonly byteSize: number;
}

/** How the client wants one output. */
export interface OutputForm {
  /** HTTP: as a blob behind the JSON part; gRPC knows no other form. */
  readonly binary: boolean;
  /** Number of classes wanted instead of the tensor; 0 = the tensor itself. */
  readonly classification: number;
  readonly sharedMemory?: SharedMemoryPlace;
}

/** Access to the registered shared memory regions. Errors as in section 9.2 of the wire protocol. */
export interface SharedMemoryReader {
  /** The bytes of a range of a region: data of an input. */
  read(region: string, offset: number, byteSize: number): Uint8Array;
  /** Checks that a range lies in a region: an output will be written there. */
  check(region: string, offset: number, byteSize: number): void;
  write(region: string, offset: number, data: Uint8Array): void;
}

/** What decoding an infer request needs to know besides the request. */
export interface DecodeOptions {
  /** Upper bound in bytes of the JSON part, of each JSON tensor and of a raw body. */
  readonly maxInputSize: number;
  /** Absent: no region is registered. */
  readonly sharedMemory?: SharedMemoryReader;
}

/** A decoded request and what its response has to look like. */
export interface DecodedInferRequest {
  readonly request: InferenceRequest;
  /** Forms of the listed outputs by name; outputs not listed use `defaultForm`. */
  readonly forms: ReadonlyMap<string, OutputForm>;
  readonly defaultForm: OutputForm;
  /** Where outputs with a shared memory form are written. */
  readonly sharedMemory?: SharedMemoryReader;
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
