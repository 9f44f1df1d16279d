/** What went wrong with a request over the network, and whether another attempt makes sense. */

/** Codes of errors that another attempt seldom changes: no such host, nobody listens, no way there. */
const LASTING: ReadonlySet<string> = new Set(['ENOTFOUND', 'ECONNREFUSED', 'ENETUNREACH', 'EHOSTUNREACH']);

/** Statuses of HTTP that may be different next time. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

/** The words of the innermost cause: what is thrown around it (`fetch failed`, `terminated`) seldom says what happened. */
export function innermostText(reason: unknown): string {
  const inner = innermost(reason);
  return inner instanceof Error ? inner.message : String(inner);
}

/** True when another attempt would most likely fail the same way; a certificate that is not trusted stays so. */
export function isLasting(reason: unknown): boolean {
  const code = (innermost(reason) as NodeJS.ErrnoException | undefined)?.code ?? '';
  return LASTING.has(code) || /CERT|_SSL_|^UNABLE_TO_/.test(code);
}

/** True for a status of HTTP after which another attempt makes sense. */
export function mayPass(status: number): boolean {
  return PASSING.has(status);
}

function innermost(reason: unknown): unknown {
  let inner = reason;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  return inner instanceof AggregateError && inner.errors[0] instanceof Error ? inner.errors[0] : inner;
}
