import { type ChannelInterface, Metadata } from '@grpc/grpc-js';
import { GrpcStatus, invalidArg, TritonError } from '../../protocol/error.js';
import type { CallOptions } from '../api/client.js';
import { cancelledByCaller } from '../api/system-errors.js';
import { errorOfStatus } from './status-error.js';

const NO_METADATA = new Metadata();

/**
 * Sends one message, resolves with the one that answers it. Goes to the channel itself: the client class of grpc-js
 * adds an interceptor chain, an event emitter and a captured stack to every call, which the load generator would
 * measure as the server's time.
 */
export function unary(
  channel: ChannelInterface,
  path: string,
  message: Buffer,
  defaultTimeoutMs: number,
  options: CallOptions | undefined,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const signal = options?.signal;
    if (signal?.aborted) {
      reject(cancelledByCaller(signal));
      return;
    }
    const timeoutMs = options?.timeoutMs ?? defaultTimeoutMs;
    const call = channel.createCall(path, deadlineOf(timeoutMs), null, null, undefined);
    const onAbort = signal && (() => call.cancelWithStatus(GrpcStatus.CANCELLED, 'Locally cancelled by application!'));
    if (onAbort) signal.addEventListener('abort', onAbort, { once: true });
    let answer: Uint8Array | undefined;
    call.start(metadataOf(options?.headers), {
      onReceiveMetadata() {},
      onReceiveMessage(received: Uint8Array) {
        answer = received;
      },
      onReceiveStatus(status) {
        if (onAbort) signal.removeEventListener('abort', onAbort);
        if (status.code !== GrpcStatus.OK) {
          reject(signal?.aborted ? cancelledByCaller(signal) : errorOfStatus(status));
        } else if (answer === undefined) {
          reject(new TritonError('INTERNAL', 'the server answered without a message', { status: status.code }));
        } else {
          resolve(answer);
        }
      },
    });
    call.startRead();
    call.sendMessageWithContext({}, message);
    call.halfClose();
  });
}

/** Point in time at which a call with this limit ends; 0 = never. */
export function deadlineOf(timeoutMs: number): number {
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
