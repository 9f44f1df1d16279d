import { type ChannelInterface, Metadata, type StatusObject } from '@grpc/grpc-js';
import { invalidArg, TritonError } from '../../base/error.js';
import { codeOfGrpcStatus, GrpcStatus } from '../../protocol/error.js';
import type { CallOptions } from '../api/client.js';
import { cancelledByCaller, deadlineExceeded, grpcSystemMessage } from '../core/errors.js';

const NO_METADATA = new Metadata();

/**
 * Sends one message, resolves with the one that responds to it. Goes to the channel itself: the client class of grpc-js
 * adds an interceptor chain, an event emitter and a captured stack to every call, which the load generator would
 * measure as the server's time.
 */
export function unary(
  channel: ChannelInterface,
  path: string,
  message: Buffer,
  options: CallOptions,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const { signal } = options;
    if (signal?.aborted) {
      reject(cancelledByCaller(signal));
      return;
    }
    const call = channel.createCall(path, deadlineOf(options.timeoutMs), null, null, undefined);
    const onAbort = signal && (() => call.cancelWithStatus(GrpcStatus.CANCELLED, 'Locally cancelled by application!'));
    if (onAbort) signal.addEventListener('abort', onAbort, { once: true });
    let response: Uint8Array | undefined;
    call.start(metadataOf(options.headers), {
      onReceiveMetadata() {},
      onReceiveMessage(received: Uint8Array) {
        response = received;
      },
      onReceiveStatus(status) {
        if (onAbort) signal.removeEventListener('abort', onAbort);
        if (status.code !== GrpcStatus.OK) {
          reject(signal?.aborted ? cancelledByCaller(signal) : errorOfStatus(status));
        } else if (response === undefined) {
          reject(new TritonError('INTERNAL', 'the server responded without a message', { status: status.code }));
        } else {
          resolve(response);
        }
      },
    });
    call.startRead();
    call.sendMessageWithContext({}, message);
    call.halfClose();
  });
}

/** Point in time at which a call with this limit in milliseconds ends; 0 = never. */
export function deadlineOf(timeoutMs = 0): number {
  return timeoutMs > 0 ? Date.now() + timeoutMs : Number.POSITIVE_INFINITY;
}

/**
 * Metadata from header options. Names are lower-cased and blanks around values dropped: HTTP/2 allows neither capitals
 * nor such blanks.
 */
export function metadataOf(headers: CallOptions['headers']): Metadata {
  if (headers === undefined) return NO_METADATA;
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) {
    try {
      metadata.add(name.toLowerCase(), name.toLowerCase().endsWith('-bin') ? Buffer.from(value) : value.trim());
    } catch (cause) {
      throw invalidArg(`header '${name}' cannot be sent as gRPC metadata: ${(cause as Error).message}`);
    }
  }
  return metadata;
}

/** The error of a call that ended with a status other than OK. */
export function errorOfStatus(status: Pick<StatusObject, 'code' | 'details'>): TritonError {
  if (status.code === GrpcStatus.DEADLINE_EXCEEDED) return deadlineExceeded(status.code);
  const known = status.code === GrpcStatus.UNAVAILABLE ? grpcSystemMessage(status.details) : undefined;
  return new TritonError(codeOfGrpcStatus(status.code), known ?? status.details, { status: status.code });
}
