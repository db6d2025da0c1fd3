import { describe, expect, it } from 'vitest';
import { startOtlpCollector } from '../../../test/support/otlp-collector.ts';
import { createLog } from './log.ts';
import { createMetrics } from './metrics.ts';
import { createTracing, exportMetrics } from './open-telemetry.ts';

const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const batch = { lane: 'live', projectId: 1, events: 2, requestId: 'r', receivedAt: Date.now() };
const all = { isParentBased: true, ratio: 1 };

function optionsFor(endpoint: string) {
  return {
    endpoint,
    isJson: true,
    headers: { 'api-key': 's3cret' },
    resource: { 'service.name': 'm' },
    log: createLog('silent'),
  };
}

describe('traces', () => {
  it('the spans of a batch belong to the trace of its client, and end with its error', async () => {
    await using collector = await startOtlpCollector();
    const tracing = createTracing({ ...optionsFor(`${collector.url}/`), sampler: all });
    const span = tracing.startCapture({ ...batch, traceparent: parent });
    const { traceparent = '' } = span;
    expect(traceparent).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/);
    span.end(new Error('the lane is full'));
    const times = { startedAt: batch.receivedAt, computedAt: batch.receivedAt + 2, storedAt: batch.receivedAt + 5 };
    tracing.stored({ lane: 'live', traceparents: [traceparent], events: 2, rows: 2, ...times });
    await tracing.close();
    const [capture, ...others] = collector.spans();
    expect(capture).toMatchObject({
      name: 'capture batch',
      traceId: parent.slice(3, 35),
      parentSpanId: parent.slice(36, 52),
      status: { code: 2, message: 'the lane is full' },
    });
    expect(others.map(({ name, parentSpanId }) => [name, parentSpanId])).toEqual([
      ['process window', traceparent.slice(36, 52)],
      ['store window', traceparent.slice(36, 52)],
    ]);
    expect(BigInt(others[1]?.endTimeUnixNano ?? 0) - BigInt(others[1]?.startTimeUnixNano ?? 0)).toBe(3_000_000n);
    expect(collector.requests[0]?.headers['api-key']).toBe('s3cret');
  });

  it('a client that does not sample is not traced, unless the sampler ignores its decision', async () => {
    await using collector = await startOtlpCollector();
    const unsampled = `${parent.slice(0, -1)}0`;
    const open = (isParentBased: boolean) =>
      createTracing({ ...optionsFor(collector.url), sampler: { isParentBased, ratio: 1 } });
    for (const [isParentBased, count] of [
      [true, 0],
      [false, 1],
    ] as const) {
      const tracing = open(isParentBased);
      const span = tracing.startCapture({ ...batch, traceparent: unsampled });
      span.end();
      await tracing.close();
      expect([span.traceparent === undefined, collector.spans().length]).toEqual([count === 0, count]);
    }
  });

  it('an invalid traceparent starts another trace', async () => {
    await using collector = await startOtlpCollector();
    const tracing = createTracing({ ...optionsFor(collector.url), sampler: all });
    tracing.startCapture({ ...batch, traceparent: `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01` }).end();
    await tracing.close();
    expect(collector.spans()[0]?.traceId).not.toBe('0'.repeat(32));
  });

  it('protobuf is sent as such', async () => {
    await using collector = await startOtlpCollector();
    const tracing = createTracing({ ...optionsFor(collector.url), isJson: false, sampler: all });
    const span = tracing.startCapture(batch);
    span.end();
    await tracing.close();
    const [request] = collector.requests;
    expect(request?.headers['content-type']).toBe('application/x-protobuf');
    // A trace id is 16 bytes in protobuf, and text in JSON.
    expect(request?.body.includes(Buffer.from(span.traceparent?.slice(3, 35) ?? '', 'hex'))).toBe(true);
  });

  it.each(['refuses', 'is away'])('a collector that %s costs a log line, without the headers', async (fault) => {
    await using collector = await startOtlpCollector({ status: 400 });
    const lines: string[] = [];
    const log = createLog('warn', { write: (line: string) => void lines.push(line) });
    const tracing = createTracing({
      ...optionsFor(fault === 'refuses' ? collector.url : 'http://127.0.0.1:9'),
      log,
      sampler: all,
    });
    tracing.startCapture(batch).end();
    await tracing.close();
    expect(lines.join('')).toContain('OTLP export failed');
    expect(lines.join('')).not.toContain('s3cret');
  });
});

it('metrics are exported with the names, labels and values of /metrics', async () => {
  await using collector = await startOtlpCollector();
  const metrics = createMetrics();
  metrics.count('millrace_component_received_events_total', { component: 'capture', lane: 'live' }, 7);
  metrics.observe('millrace_ingest_ack_seconds', { lane: 'live' }, 0.02);
  metrics.beforeText(() => metrics.set('millrace_slots_held', {}, 3));
  await exportMetrics(metrics, { ...optionsFor(collector.url), intervalMs: 60_000 })();
  const named = (name: string) => collector.metrics().find((metric) => metric.name === name);
  expect(named('millrace_component_received_events_total')?.sum).toMatchObject({
    isMonotonic: true,
    dataPoints: [
      {
        asDouble: 7,
        attributes: [
          { key: 'component', value: { stringValue: 'capture' } },
          { key: 'lane', value: { stringValue: 'live' } },
        ],
      },
    ],
  });
  expect(named('millrace_slots_held')?.gauge?.dataPoints).toMatchObject([{ asDouble: 3 }]);
  expect(named('millrace_ingest_ack_seconds')?.histogram?.dataPoints).toMatchObject([{ count: 1, sum: 0.02 }]);
});
