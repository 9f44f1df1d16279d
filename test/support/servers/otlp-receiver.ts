/** A collector that takes OTLP over HTTP in its JSON form and keeps what it gets. */
import http from 'node:http';
import type net from 'node:net';

/** A span as it was sent. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly { readonly key: string; readonly value: Readonly<Record<string, string>> }[];
  readonly events: readonly { readonly name: string; readonly timeUnixNano: string }[];
}

/** One export request. */
export interface ReceivedBatch {
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly resource: Readonly<Record<string, string | undefined>>;
  readonly scope: string;
  readonly spans: readonly ReceivedSpan[];
}

interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly { key: string; value: { stringValue?: string } }[] };
    readonly scopeSpans: readonly { readonly scope: { name: string }; readonly spans: readonly ReceivedSpan[] }[];
  }[];
}

/** A receiver on a free port. `status` is what it answers. */
export async function startOtlpReceiver(status = 200) {
  const batches: ReceivedBatch[] = [];
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as ExportRequest;
      for (const { resource, scopeSpans } of body.resourceSpans) {
        const attributes = resource.attributes.map(({ key, value }) => [key, value.stringValue]);
        for (const { scope, spans } of scopeSpans) {
          batches.push({
            path: request.url ?? '',
            headers: request.headers,
            resource: Object.fromEntries(attributes) as ReceivedBatch['resource'],
            scope: scope.name,
            spans,
          });
        }
      }
      response.writeHead(status).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as net.AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1/traces`,
    batches,
    spans: () => batches.flatMap(({ spans }) => spans),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
