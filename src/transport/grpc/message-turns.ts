/** Milliseconds that messages of streams may take in one turn of the event loop, of all connections together. */
const TURN_MS = 10;

/** Reads messages of a stream, and stops when `mayHandle` says so. */
export interface TurnTaker {
  readOn(): void;
}

let open = false;
let endsAt = 0;
let waiting = new Set<TurnTaker>();

/**
 * Whether another message of a stream may be handled in this turn. A read may hold thousands of small messages, and
 * handling them all would keep everybody else waiting. Whoever hears `false` calls `inNextTurn`.
 */
export function mayHandle(): boolean {
  const now = performance.now();
  if (!open) {
    open = true;
    endsAt = now + TURN_MS;
    setImmediate(nextTurn);
  }
  return now < endsAt;
}

/** The reader goes on in one of the next turns, when those that wait already have had theirs. */
export function inNextTurn(reader: TurnTaker): void {
  waiting.add(reader);
}

/** Linear in the readers that wait. */
function nextTurn(): void {
  open = false;
  const readers = [...waiting];
  waiting = new Set();
  for (const [i, reader] of readers.entries()) {
    if (!mayHandle()) {
      waiting = new Set([...readers.slice(i), ...waiting]);
      return;
    }
    reader.readOn();
  }
}
