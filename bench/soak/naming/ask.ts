import type { InferCall, InferResult } from '../../../src/client/api/client.js';

/** A request whose responses only it can have. */
export interface Ask {
  /** Its number, which is its `id` too. */
  readonly token: number;
  readonly kind: string;
  readonly call: InferCall;
  /** Whether the tensors travel as JSON, where the protocol has a choice. */
  readonly json: boolean;
  /** How many responses it has. */
  readonly responses: number;
  /** What is wrong with its response number `index`; undefined when nothing is. */
  check(result: InferResult, index: number): string | undefined;
  /** Responses so far. */
  got: number;
}

/** What became of the requests of one kind. */
export interface Count {
  sent: number;
  right: number;
  wrong: number;
  lost: number;
  twice: number;
  failed: number;
}

/** Counts by kind, and the first faults with what they were. */
export class Counts {
  readonly byKind = new Map<string, Count>();
  readonly faults: string[] = [];
  responses = 0;

  of(kind: string): Count {
    let count = this.byKind.get(kind);
    if (count === undefined) {
      count = { sent: 0, right: 0, wrong: 0, lost: 0, twice: 0, failed: 0 };
      this.byKind.set(kind, count);
    }
    return count;
  }

  sent({ kind, responses }: Ask): void {
    this.of(kind).sent += responses;
  }

  /** A response came for this request. True when it was the last. */
  response(ask: Ask, result: InferResult): boolean {
    this.responses++;
    const count = this.of(ask.kind);
    const index = ask.got++;
    const fault =
      result.id === String(ask.token) ? ask.check(result, index) : `the id is '${result.id}' instead of ${ask.token}`;
    if (fault === undefined) count.right++;
    else {
      count.wrong++;
      this.#fault(`${ask.kind} ${ask.token}: ${fault}`);
    }
    return ask.got === ask.responses;
  }

  /** A response came that belongs to no request that waits. */
  twice(kind: string, what: string): void {
    this.of(kind).twice++;
    this.#fault(`${kind}: a response nobody waits for: ${what}`);
  }

  failed({ kind, token, responses, got }: Ask, text: string): void {
    this.of(kind).failed += responses - got;
    this.#fault(`${kind} ${token} failed: ${text}`);
  }

  lost({ kind, token, responses, got }: Ask): void {
    this.of(kind).lost += responses - got;
    this.#fault(`${kind} ${token}: ${responses - got} responses never came`);
  }

  #fault(text: string): void {
    if (this.faults.length < 50) this.faults.push(text.slice(0, 400));
  }
}

/** A connection that sends requests and says when each has all its responses. */
export interface Connection {
  send(ask: Ask): void;
  /** Requests that wait. */
  readonly waiting: Iterable<Ask>;
  close(): void;
}

/** What a connection reports. */
export interface Events {
  /** The request has all its responses, or has failed: the next may be sent. */
  done(ask: Ask): void;
  /** The connection cannot be used any more. */
  broken(reason: string): void;
}
