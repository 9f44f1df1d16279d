/**
 * What goes wrong below the protocol (no connection, unknown host, TLS, broken responses) as TritonErrors: the one place
 * where codes of the operating system, of undici and of grpc-js are known. The first part of each message is that of
 * NVIDIA's client libraries, which tools match on; the system's own words follow in brackets.
 */
import { TritonError } from '../../base/error.js';

/** Messages of libcurl, as Triton's HTTP client reports them, by code of the system or of undici. */
const CONNECT = "Couldn't connect to server";
const HTTP_MESSAGES: Readonly<Record<string, string>> = {
  ECONNREFUSED: CONNECT,
  EHOSTUNREACH: CONNECT,
  ENETUNREACH: CONNECT,
  EADDRNOTAVAIL: CONNECT,
  ETIMEDOUT: CONNECT,
  UND_ERR_CONNECT_TIMEOUT: CONNECT,
  ENOTFOUND: "Couldn't resolve host name",
  EAI_AGAIN: "Couldn't resolve host name",
  ECONNRESET: 'Failure when receiving data from the peer',
  UND_ERR_SOCKET: 'Failure when receiving data from the peer',
  EPIPE: 'Failed sending data to the peer',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'Transferred a partial file',
  UND_ERR_HEADERS_OVERFLOW: 'Weird server reply',
  EPROTO: 'SSL connect error',
};

/** Reasons in the words of gRPC's core library. */
const GRPC_REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Connection refused',
  EHOSTUNREACH: 'No route to host',
  ENETUNREACH: 'Network is unreachable',
  ETIMEDOUT: 'Connection timed out',
  ECONNRESET: 'Connection reset by peer',
};

/** A failed HTTP exchange: what undici or the socket reported. */
export function httpSystemError(reason: unknown): TritonError {
  if (reason instanceof TritonError) return reason;
  const { code, message } = describe(reason);
  const broken = reason instanceof Error && reason.name === 'HTTPParserError';
  const known = broken
    ? messageOfForeignResponse(message)
    : (messageOfHandshake(message) ?? HTTP_MESSAGES[code] ?? messageOfFamily(code));
  const details = opensslReason(message) ?? (message === '' ? code : message);
  return new TritonError('UNAVAILABLE', `HTTP client failed: ${known ?? details}${known ? ` (${details})` : ''}`, {
    cause: reason,
  });
}

/** A response that does not even begin like HTTP/1 comes from a server of another protocol. */
function messageOfForeignResponse(message: string): string {
  return message.includes('Expected HTTP/') ? 'Unsupported protocol' : 'Weird server reply';
}

/** A server that hangs up on a TLS greeting speaks no TLS; to Node.js that is a connection like any other. */
function messageOfHandshake(message: string): string | undefined {
  return message.includes('before secure TLS connection') ? 'SSL connect error' : undefined;
}

function messageOfFamily(code: string): string | undefined {
  if (/CERT|SIGNATURE|UNABLE_TO/.test(code)) return 'SSL peer certificate or SSH remote key was not OK';
  if (code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS')) return 'SSL connect error';
  return undefined;
}

/** Code and message of a system error; of several (one per address tried) the first one's. */
function describe(reason: unknown): { code: string; message: string } {
  if (reason instanceof AggregateError && reason.errors.length > 0) return describe(reason.errors[0]);
  if (!(reason instanceof Error)) return { code: '', message: String(reason) };
  const code = (reason as NodeJS.ErrnoException).code;
  if (code === undefined && reason.cause instanceof Error) return describe(reason.cause);
  return { code: code ?? '', message: reason.message };
}

/**
 * Message of a gRPC status that the client's own library made because there is no connection, in the words of gRPC's core
 * library; undefined for a status that came from the server.
 */
export function grpcSystemMessage(details: string): string | undefined {
  const connect = /connect (E[A-Z]+) ([^\s]+?):(\d+)/.exec(details);
  if (connect !== null) {
    const [, code = '', address = '', port = ''] = connect;
    const target = address.includes(':') ? `ipv6:[${address}]:${port}` : `ipv4:${address}:${port}`;
    const reason = GRPC_REASONS[code] ?? code;
    return `failed to connect to all addresses; last error: UNKNOWN: ${target}: Failed to connect to remote host: ${reason}`;
  }
  const lookup = /Name resolution failed for target (?:dns:)?([^\s]+)/.exec(details);
  if (lookup !== null) return `DNS resolution failed for ${lookup[1]}: Domain name not found (${details})`;
  const last = /^No connection established\. Last error: (.*?)(?: \([-0-9TZ:.]+\))?\.? Resolution note:/s.exec(
    details,
  )?.[1];
  if (last === undefined) return undefined;
  const tls = opensslReason(last);
  const reason = tls === undefined ? `Socket closed (${last.replace(/^Error: /, '')})` : `SSL handshake failed: ${tls}`;
  return `failed to connect to all addresses; last error: UNAVAILABLE: ${reason}`;
}

/** The reason in a message of OpenSSL, which also names its own functions, files and lines. */
function opensslReason(message: string): string | undefined {
  return /:error:[0-9A-F]+:[^:]*:[^:]*:([^:]+):/.exec(message)?.[1];
}

/** The error of a call that took longer than its limit. */
export function deadlineExceeded(status?: number): TritonError {
  return new TritonError('UNAVAILABLE', 'Deadline Exceeded', status === undefined ? undefined : { status });
}

/** The error of a call that its caller cancelled. */
export function cancelledByCaller(signal?: AbortSignal): TritonError {
  const cause: unknown = signal?.reason;
  return new TritonError('CANCELLED', 'Locally cancelled by application!', cause === undefined ? undefined : { cause });
}

/** The error of a call with the id of its request, which distinguishes calls that were in flight together. */
export function withRequestId(reason: unknown, id: string | undefined): TritonError {
  const error = TritonError.from(reason);
  if (id === undefined || id === '' || error.requestId !== undefined) return error;
  const { code, message, status, cause } = error;
  return new TritonError(code, message, {
    requestId: id,
    ...(cause === undefined ? {} : { cause }),
    ...(status === undefined ? {} : { status }),
  });
}
