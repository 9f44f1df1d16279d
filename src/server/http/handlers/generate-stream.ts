import type { InferenceResponse } from '../../../contract/request.js';
import { Abandoned, inTurns, type Steps } from '../../../protocol/steps.js';
import type { HeaderList, Http1ChunkedBody, Http1Reply, Http1Request } from '../../../transport/http1/http1-api.js';
import type { ServerContext } from '../../context/server-context.js';
import type { CallKind, InferenceCall } from '../../infer/inference-call.js';
import { StreamBacklog } from '../../infer/stream-backlog.js';
import type { HttpTrace } from '../infer/call-trace.js';
import {
  beginGenerate,
  ERROR_STATUS,
  encodeAnswerSteps,
  type GenerateAnswer,
  type GenerateExchange,
} from '../infer/generate-call.js';
import { errorBody } from '../message/respond.js';
import type { HttpRoute } from '../route/endpoint.js';

const KIND: CallKind = { protocol: 'http', forwardsHeaders: false, timed: false, logsBuffers: false };

const EVENT_HEADERS: HeaderList = [['Content-Type', 'text/event-stream; charset=utf-8']];
const DATA = Buffer.from('data: ');
const END_OF_EVENT = Buffer.from('\n\n');

/** `POST /v2/models/M/generate_stream`: every response as an event; a client that leaves cancels the request. */
export function generateStream(
  context: ServerContext,
  route: HttpRoute,
  request: Http1Request,
  reply: Http1Reply,
): void {
  const exchange = { context, route, request, reply };
  beginGenerate(exchange, KIND, (call, decoded, client) => {
    const stream = new EventStream(exchange, call);
    call.submit(decoded, client, (response, final) => stream.take(response, final));
  });
}

/** The events of one request. Responses that follow one whose encoding takes turns wait for it. */
class EventStream {
  readonly #exchange: GenerateExchange;
  readonly #call: InferenceCall<HttpTrace>;
  readonly #backlog: StreamBacklog;
  #body: Http1ChunkedBody | undefined;
  #ended = false;
  /** Bytes of the responses that wait to be encoded. */
  #unencoded = 0;
  /** Settles when the last of them is sent. */
  #last: Promise<void> | undefined;

  constructor(exchange: GenerateExchange, call: InferenceCall<HttpTrace>) {
    this.#exchange = exchange;
    this.#call = call;
    this.#backlog = new StreamBacklog(exchange.context.options.limits.streamMaxBacklog);
  }

  /** Takes what comes from the model; `response` is absent where the stream only ends. */
  take(response: InferenceResponse | undefined, final: boolean): void {
    const steps: Steps<GenerateAnswer | undefined> = response === undefined ? noAnswer() : encodeAnswerSteps(response);
    if (this.#last === undefined) {
      const first = steps.next();
      if (first.done) {
        this.#send(first.value, final);
        return;
      }
    }
    if (!this.#ended) this.#encodeInTurns(steps, response === undefined ? 0 : sizeOf(response), final);
  }

  #encodeInTurns(steps: Steps<GenerateAnswer | undefined>, size: number, final: boolean): void {
    const { context, reply } = this.#exchange;
    this.#unencoded += size;
    const limit = context.options.limits.streamMaxBacklog;
    if (limit !== 0 && this.#last !== undefined && this.#unencoded > limit) {
      const why = `the model answers faster than its responses can be encoded as JSON: ${this.#unencoded} bytes of them wait`;
      this.#giveUp(`${why}, more than the ${limit} of --stream-max-backlog`);
      return;
    }
    const mine: Promise<void> = (this.#last ?? Promise.resolve())
      .then(() => inTurns(steps, () => reply.closed || this.#ended))
      .then((answer) => this.#send(answer, final))
      .catch((reason) => {
        if (!(reason instanceof Abandoned))
          context.log.error(`HTTP handler failed: ${String((reason as Error).stack)}`);
        this.#ended = true;
        this.#call.cancel();
        this.#body?.end();
      })
      .finally(() => {
        this.#unencoded -= size;
        if (this.#last === mine) this.#last = undefined;
      });
    this.#last = mine;
  }

  #send(answer: GenerateAnswer | undefined, final: boolean): void {
    if (this.#ended) return;
    const body = this.#start(answer?.status ?? 200);
    if (answer !== undefined && !writeEvent(body, answer.pieces)) {
      if (this.#backlog.empty) body.onDrain(() => this.#backlog.clear());
      const tooSlow = this.#backlog.add(lengthOf(answer.pieces));
      if (tooSlow !== undefined) this.#giveUp(tooSlow.message);
    }
    if (final && !this.#ended) body.end();
  }

  /** Ends the stream with an error event; what waits is dropped. */
  #giveUp(message: string): void {
    const { context, route } = this.#exchange;
    this.#ended = true;
    context.log.warning(`stream of model '${route.model}' ended: ${message}`);
    const body = this.#start(ERROR_STATUS);
    writeEvent(body, [errorBody(message)]);
    body.end();
    this.#call.cancel();
  }

  #start(status: number): Http1ChunkedBody {
    this.#body ??= (this.#call.trace ?? this.#exchange.reply).startChunked(status, EVENT_HEADERS);
    return this.#body;
  }
}

/** Stands for the encoding of a response that only ends the stream. */
function* noAnswer(): Steps<undefined> {}

/** Bytes of a response's tensors. */
function sizeOf({ outputs }: InferenceResponse): number {
  let size = 0;
  for (const { data } of outputs) size += data.byteLength;
  return size;
}

function lengthOf(pieces: readonly Uint8Array[]): number {
  let length = 0;
  for (const piece of pieces) length += piece.length;
  return length;
}

/** `data: <json>` and an empty line. What `write` says of the last piece holds for all. */
function writeEvent(body: Http1ChunkedBody, pieces: readonly Uint8Array[]): boolean {
  if (pieces.length === 1) return body.write(Buffer.concat([DATA, pieces[0]!, END_OF_EVENT]));
  body.write(DATA);
  for (const piece of pieces) body.write(piece);
  return body.write(END_OF_EVENT);
}
