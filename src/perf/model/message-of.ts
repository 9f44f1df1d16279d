/**
 * The text of a failed call in the original's words: what the client library adds in brackets about the system's error
 * is left out, so that the lines are those that tools match on.
 */
export function messageOf(reason: unknown): string {
  const text = reason instanceof Error ? reason.message : String(reason);
  return text.replace(/^(HTTP client failed: [^(]+?) \(.*\)$/s, '$1');
}
