import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

interface OtlpRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly status: { readonly code?: number; readonly message?: string };
}

interface Metric {
  readonly name: string;
  readonly sum?: { readonly dataPoints: readonly Point[]; readonly isMonotonic: boolean };
  readonly gauge?: { readonly dataPoints: readonly Point[] };
  readonly histogram?: { readonly dataPoints: readonly object[] };
}
interface Point {
  readonly asDouble: number;
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue: string } }[];
}

/** An OpenTelemetry collector that keeps what it receives over HTTP; the accessors read JSON. */
export async function startOtlpCollector({ status = 200 } = {}) {
  const requests: OtlpRequest[] = [];
  const server = createServer(async (request, response) => {
    requests.push({ path: request.url ?? '', headers: request.headers, body: await buffer(request) });
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const parsed = (path: string) =>
    requests
      .filter((each) => each.path === path)
      .map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    spans: (): OtlpSpan[] =>
      parsed('/v1/traces').flatMap(({ resourceSpans }) =>
        (resourceSpans as { scopeSpans: { spans: OtlpSpan[] }[] }[]).flatMap(({ scopeSpans }) =>
          scopeSpans.flatMap(({ spans }) => spans),
        ),
      ),
    /** Of all exports, oldest first. */
    metrics: (): Metric[] =>
      parsed('/v1/metrics').flatMap(({ resourceMetrics }) =>
        (resourceMetrics as { scopeMetrics: { metrics: Metric[] }[] }[]).flatMap(({ scopeMetrics }) =>
          scopeMetrics.flatMap(({ metrics }) => metrics),
        ),
      ),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
