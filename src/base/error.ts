/** The errors of the project: one class at the base, and its closed set of codes. */

/** Error codes in the numbering of Triton's C API. */
export const ErrorCode = {
  UNKNOWN: 0,
  INTERNAL: 1,
  NOT_FOUND: 2,
  INVALID_ARG: 3,
  UNAVAILABLE: 4,
  UNSUPPORTED: 5,
  ALREADY_EXISTS: 6,
  CANCELLED: 7,
} as const;

/** Name of an error code. */
export type ErrorCodeName = keyof typeof ErrorCode;

/** The words printed before a message, as in `Invalid argument: <message>`; CANCELLED has none in Triton. */
const CODE_TEXT: Record<ErrorCodeName, string> = {
  UNKNOWN: 'Unknown',
  INTERNAL: 'Internal',
  NOT_FOUND: 'Not found',
  INVALID_ARG: 'Invalid argument',
  UNAVAILABLE: 'Unavailable',
  UNSUPPORTED: 'Unsupported',
  ALREADY_EXISTS: 'Already exists',
  CANCELLED: '<invalid code>',
};

/**
 * An expected failure with one of Triton's codes, and the base of every error that is thrown on purpose and leaves its
 * module. `message` is what clients see, to the letter.
 */
export class TritonError extends Error {
  override readonly name: string = 'TritonError';
  readonly code: ErrorCodeName;
  /** HTTP or gRPC status as received, where a client read this error off the wire. */
  readonly status: number | undefined;
  /** Id of the request that failed, where it is known. */
  readonly requestId: string | undefined;

  constructor(
    code: ErrorCodeName,
    message: string,
    options?: { cause?: unknown; status?: number; requestId?: string },
  ) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options?.status;
    this.requestId = options?.requestId;
  }

  /** `Invalid argument: <message>`: the form in logs and in state reasons. */
  toStatusText(): string {
    return `${CODE_TEXT[this.code]}: ${this.message}`;
  }

  /** The words of the code alone, as in `creating server: Internal - <message>`. */
  get codeText(): string {
    return CODE_TEXT[this.code];
  }

  /** Turns anything thrown into a TritonError; what is not one already becomes INTERNAL with its message. */
  static from(reason: unknown): TritonError {
    if (reason instanceof TritonError) return reason;
    if (reason instanceof Error) return new TritonError('INTERNAL', reason.message, { cause: reason });
    return new TritonError('INTERNAL', String(reason), { cause: reason });
  }
}

/** Shorthand for the most frequent kind of error. */
export function invalidArg(message: string): TritonError {
  return new TritonError('INVALID_ARG', message);
}
