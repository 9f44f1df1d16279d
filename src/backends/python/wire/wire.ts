/** Kinds of frames between the server and a model's process; the same table as in python/triton_runtime/wire.py. */

/** Frames to the process: the first three on the socket, the others through the pipe. */
export const ToModel = {
  INIT: 1,
  EXECUTE: 2,
  FINALIZE: 3,
  CANCELLED: 20,
  CALL_RESULT: 21,
  BLS_RESPONSE: 22,
  ACKNOWLEDGE: 23,
  CHECK_READY: 24,
  GO_ON: 25,
} as const;

/** Frames from the process. */
export const FromModel = {
  READY: 101,
  FAILED: 102,
  FINALIZED: 103,
  COMPLETED: 104,
  DONE: 110,
  SEND: 111,
  BLS: 112,
  BLS_CANCEL: 113,
  LOG: 114,
  CALL: 115,
  CHECKED: 116,
  NOTIFY: 117,
  RELEASED: 118,
} as const;

const KINDS: ReadonlySet<number> = new Set(Object.values(FromModel));

/** True for a kind of frame that a process sends. */
export function isFromModel(kind: number): boolean {
  return KINDS.has(kind);
}

/** Where a tensor's bytes are: in the frame, in the sender's shared memory, in the receiver's (sent back unchanged). */
export const Place = { INLINE: 0, SHARED: 1, BORROWED: 2 } as const;

/** Types of the parameters that a process sends. */
export const ParameterType = { INTEGER: 0, STRING: 1, BOOLEAN: 2, DOUBLE: 3, UNSIGNED: 4 } as const;

/** What became of a request of a batch. */
export const Outcome = { RESPONSE: 0, OPEN: 1, CLOSED: 2, RESCHEDULED: 3 } as const;

/** Bytes from which on a tensor travels in shared memory; smaller ones are cheaper in the frame. */
export const SHARED_FROM = 32_768;

/** Inline tensors start at a multiple of this in frames to the process, so that arrays lie aligned on the frame. */
export const ALIGNMENT = 16;

/**
 * Longest frame in bytes, in both directions, unless `--backend-config=python,max-frame-bytes` sets another one. Only
 * tensors for which shared memory has no room make frames large.
 */
export const LONGEST_FRAME = 1 << 30;

/** What max-frame-bytes may be: the length of a frame is a u32, and the frame of the start must fit. */
export const FRAME_LIMITS = { least: 1 << 20, most: 0xffff_ffff } as const;
