import { TritonError } from '../protocol/error.js';

/** The kinds of regions. */
export type SharedMemoryKind = 'system' | 'cuda';

/** What registering and unregistering answer: switched off, or switched on in a server that has no regions yet. */
export function sharedMemoryRefusal(allowed: boolean): TritonError {
  return new TritonError(
    'UNSUPPORTED',
    allowed
      ? 'shared memory regions are not supported by this server'
      : "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.",
  );
}

/** The answer to the status of one region: there is none. */
export function unknownRegion(kind: SharedMemoryKind, region: string): TritonError {
  return new TritonError('NOT_FOUND', `Unable to find ${kind} shared memory region: '${region}'`);
}
