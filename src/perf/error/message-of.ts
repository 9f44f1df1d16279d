import { lookup } from 'node:dns/promises';

/**
 * The message of a failed call as perf_analyzer prints it: what the client library adds in brackets about the system's
 * error is left out, so that the lines are those that tools match on.
 */
export function messageOf(reason: unknown): string {
  const message = reason instanceof Error ? reason.message : String(reason);
  return message.replace(/^(HTTP client failed: [^(]+?) \(.*\)$/s, '$1');
}

/** The same for the first call of a run, where perf_analyzer also names the address that closed the connection. */
export async function messageOfFirstCall(reason: unknown, url: string): Promise<string> {
  const message = messageOf(reason);
  const hungUp = /^(failed to connect to all addresses; last error: UNAVAILABLE: )Socket closed/.exec(message);
  const colon = url.lastIndexOf(':');
  if (hungUp === null || colon < 0) return message;
  const host = url
    .slice(0, colon)
    .replace(/^.*:\/\//, '')
    .replace(/^\[(.*)\]$/, '$1');
  try {
    const { address, family } = await lookup(host);
    const target = family === 6 ? `ipv6:[${address}]` : `ipv4:${address}`;
    return `${hungUp[1]}${target}:${url.slice(colon + 1)}: Socket closed`;
  } catch {
    return message;
  }
}
