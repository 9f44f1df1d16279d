/** The words of the innermost cause: what is thrown around it seldom says what happened. */
export function innermostText(reason: unknown): string {
  let inner = reason;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  if (inner instanceof AggregateError && inner.errors[0] instanceof Error) inner = inner.errors[0];
  return inner instanceof Error ? inner.message : String(inner);
}
