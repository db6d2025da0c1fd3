/** Traces and metrics of the real program, as a collector receives them. */
import { expect, it } from 'vitest';
import { startOtlpCollector } from '../support/otlp-collector.ts';
import { projectKey, startServer, tempDataDir } from '../support/server.ts';

const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

it('a batch from request to row is one trace, and metrics are exported beside /metrics', async () => {
  await using data = await tempDataDir();
  await using collector = await startOtlpCollector();
  const server = await startServer(data.path, {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%2Cb',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test',
  });
  const response = await fetch(`${server.url}/batch/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent: parent },
    body: JSON.stringify({ api_key: projectKey, batch: [{ event: 'visit', distinct_id: 'ada' }] }),
  });
  expect(response.status).toBe(200);
  const isStored = async (): Promise<boolean> => {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    return /^millrace_component_sent_events_total\{component="pipeline",lane="live"\} 1$/m.test(text);
  };
  await expect.poll(isStored, { timeout: 30_000 }).toBe(true);
  // Exports what is buffered.
  expect((await server.terminate()).code).toBe(0);

  const spans = collector.spans();
  expect(spans.map(({ name }) => name).toSorted()).toEqual(['capture batch', 'process window', 'store window']);
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([parent.slice(3, 35)]));
  const capture = spans.find(({ name }) => name === 'capture batch');
  expect(capture?.parentSpanId).toBe(parent.slice(36, 52));
  const others = spans.filter((span) => span !== capture);
  expect(others.map(({ parentSpanId }) => parentSpanId)).toEqual([capture?.spanId, capture?.spanId]);
  const received = collector.metrics().find(({ name }) => name === 'millrace_component_received_events_total');
  const captured = received?.sum?.dataPoints.find(({ attributes }) =>
    attributes.some(({ value }) => value.stringValue === 'capture'),
  );
  expect(captured?.asDouble).toBe(1);
  for (const { headers, body } of collector.requests) {
    expect(headers['api-key']).toBe('a,b');
    expect(body.toString()).toContain('deployment.environment');
  }
  expect(server.output()).not.toContain('a%2Cb');
});
