import { context, diag, DiagLogLevel, isSpanContextValid, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Context, Span, SpanContext } from '@opentelemetry/api';
import { OTLPMetricExporter as JsonMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as ProtobufMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter as JsonTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes, type Resource } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TracerProvider,
  TraceIdRatioBasedSampler,
  type Sampler,
} from '@opentelemetry/sdk-trace';
import type { Log } from './log.ts';
import type { MetricsRegistry } from './metrics.ts';
import { createMetricProducer } from './otlp-metrics.ts';
import type { CapturedBatch, CaptureSpan, TracedWindow, Tracing } from './tracing.ts';

export interface OtlpOptions {
  /** Without a path. */
  readonly endpoint: string;
  readonly isJson: boolean;
  readonly headers: Readonly<Record<string, string>>;
  /** Attributes of the service. */
  readonly resource: Readonly<Record<string, string>>;
  readonly log: Log;
}

export interface TracingOptions extends OtlpOptions {
  readonly sampler: { readonly isParentBased: boolean; readonly ratio: number };
}

const scope = 'millrace';
const closeMsMax = 3000;

export function createTracing(options: TracingOptions): Tracing {
  reportTrouble(options.log);
  const provider = new TracerProvider({
    resource: resourceOf(options),
    sampler: samplerOf(options.sampler),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: options.isJson
          ? new JsonTraceExporter(requestOf(options, 'traces'))
          : new ProtobufTraceExporter(requestOf(options, 'traces')),
      }),
    ],
  });
  const tracer = provider.getTracer(scope);
  const startCapture = (batch: CapturedBatch): CaptureSpan => {
    const span = tracer.startSpan(
      'capture batch',
      { kind: SpanKind.SERVER, startTime: batch.receivedAt, attributes: attributesOf(batch) },
      contextOf(batch.traceparent),
    );
    return {
      traceparent: span.isRecording() ? traceparentOf(span.spanContext()) : undefined,
      end: (error) => endSpan(span, error),
    };
  };
  const stored = ({ traceparents, lane, events, rows, startedAt, computedAt, storedAt }: TracedWindow): void => {
    const attributes = { 'millrace.lane': lane, 'millrace.window.events': events, 'millrace.window.rows': rows };
    const kind = SpanKind.CONSUMER;
    for (const traceparent of traceparents) {
      const parent = contextOf(traceparent);
      tracer.startSpan('process window', { kind, startTime: startedAt, attributes }, parent).end(computedAt);
      tracer.startSpan('store window', { kind, startTime: computedAt, attributes }, parent).end(storedAt);
    }
  };
  return { startCapture, stored, close: () => withinTime(provider.shutdown(), options.log) };
}

/** Exports the metrics of the registry at intervals. Returns a function that exports once more and stops. */
export function exportMetrics(
  metrics: MetricsRegistry,
  { intervalMs, ...options }: OtlpOptions & { readonly intervalMs: number },
): () => Promise<void> {
  reportTrouble(options.log);
  const exporter = options.isJson
    ? new JsonMetricExporter(requestOf(options, 'metrics'))
    : new ProtobufMetricExporter(requestOf(options, 'metrics'));
  const resource = resourceOf(options);
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: intervalMs,
    exportTimeoutMillis: Math.min(intervalMs, 30_000),
    metricProducers: [createMetricProducer(metrics, resource)],
  });
  const provider = new MeterProvider({ resource, readers: [reader] });
  return () => withinTime(provider.shutdown(), options.log);
}

function requestOf({ endpoint, headers }: OtlpOptions, signal: 'traces' | 'metrics') {
  return { url: `${endpoint.replace(/\/+$/, '')}/v1/${signal}`, headers: { ...headers } };
}

function resourceOf({ resource }: OtlpOptions): Resource {
  return resourceFromAttributes({ ...resource });
}

function samplerOf({ isParentBased, ratio }: TracingOptions['sampler']): Sampler {
  const root =
    ratio >= 1 ? new AlwaysOnSampler() : ratio <= 0 ? new AlwaysOffSampler() : new TraceIdRatioBasedSampler(ratio);
  return isParentBased ? new ParentBasedSampler({ root }) : root;
}

function attributesOf({ lane, projectId, events, requestId }: CapturedBatch) {
  return {
    'millrace.lane': lane,
    'millrace.project_id': projectId,
    'millrace.batch.events': events,
    'millrace.request_id': requestId,
  };
}

function endSpan(span: Span, error: unknown): void {
  if (error !== undefined) {
    const message = error instanceof Error ? error.message : String(error);
    span.setStatus({ code: SpanStatusCode.ERROR, message });
  }
  span.end();
}

const traceparentForm = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Returns the context of the parent. Without one, or if it is invalid, a trace begins, as specified. */
function contextOf(traceparent: string | undefined): Context {
  const found = traceparentForm.exec(traceparent ?? '');
  if (found === null) return context.active();
  const [, traceId = '', spanId = '', flags = ''] = found;
  const parent: SpanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(parent) ? trace.setSpanContext(context.active(), parent) : context.active();
}

function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

/** The SDK reports failed exports to a global logger. */
function reportTrouble(log: Log): void {
  const report = (message: string, ...details: unknown[]): void => log.warn({ message, details }, 'OTLP export failed');
  const ignore = (): void => undefined;
  diag.setLogger(
    { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

/** A collector that does not answer must not delay the end of the service. */
async function withinTime(work: Promise<void>, log: Log): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${closeMsMax} ms`)), closeMsMax);
  try {
    await Promise.race([work, promise]);
  } catch (err) {
    log.warn({ err }, 'OTLP export failed, buffered data is lost');
  } finally {
    clearTimeout(timer);
  }
}
