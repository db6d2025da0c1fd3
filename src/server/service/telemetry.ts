import type { AcceptedBatch, Ingest } from '../../wire/batch/ingest.ts';
import { ConfigError } from '../config/load.ts';
import type { Settings } from '../config/settings.ts';
import type { Log } from '../telemetry/log.ts';
import type { MetricsRegistry } from '../telemetry/metrics.ts';
import type { OtlpOptions } from '../telemetry/open-telemetry.ts';
import type { Tracing } from '../telemetry/tracing.ts';

/** Returns `undefined` if no traces are exported. The SDK is loaded only if they are. @throws ConfigError */
export async function openTracing(settings: Settings, log: Log): Promise<Tracing | undefined> {
  const options = otlpOptions(settings, log);
  if (options === undefined || settings.otelTracesExporter === 'none') return undefined;
  const { createTracing } = await import('../telemetry/open-telemetry.ts');
  return createTracing({ ...options, sampler: samplerOf(settings) });
}

/** Exports metrics at intervals, if configured. `parts` receives what must be stopped. @throws ConfigError */
export async function startMetricExports(
  settings: Settings,
  { log, metrics }: { readonly log: Log; readonly metrics: MetricsRegistry },
  parts: AsyncDisposableStack,
): Promise<void> {
  const options = otlpOptions(settings, log);
  if (options === undefined || settings.otelMetricsExporter === 'none') return;
  const { exportMetrics } = await import('../telemetry/open-telemetry.ts');
  parts.defer(exportMetrics(metrics, { ...options, intervalMs: settings.otelMetricIntervalMs }));
}

/** Wraps ingest: the span of a batch lasts from its arrival until it is durable, and its context goes into the log. */
export function createTracedIngest(ingest: Ingest, tracing: Tracing | undefined): Ingest {
  if (tracing === undefined) return ingest;
  return {
    accept: async (batch) => {
      const { traceparent: _received, ...untraced } = batch;
      const span = tracing.startCapture(batch);
      const { traceparent } = span;
      const traced: AcceptedBatch = traceparent === undefined ? untraced : { ...batch, traceparent };
      try {
        await ingest.accept(traced);
        span.end();
      } catch (error) {
        span.end(error);
        throw error;
      }
    },
  };
}

function otlpOptions(settings: Settings, log: Log): OtlpOptions | undefined {
  const { otelEndpoint: endpoint, otelDisabled, otelProtocol } = settings;
  if (endpoint === '' || otelDisabled) return undefined;
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol)) {
    throw new ConfigError([
      `OTEL_EXPORTER_OTLP_ENDPOINT: expected an address such as http://127.0.0.1:4318, got: ${endpoint}`,
    ]);
  }
  return {
    endpoint,
    isJson: otelProtocol === 'http/json',
    headers: pairsOf('OTEL_EXPORTER_OTLP_HEADERS', settings.otelHeaders),
    resource: {
      ...pairsOf('OTEL_RESOURCE_ATTRIBUTES', settings.otelResourceAttributes),
      'service.name': settings.otelServiceName,
    },
    log,
  };
}

/** Parses `a=1,b=2`. Values may be secret, so an error names only the variable. */
function pairsOf(variable: string, text: string): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const pair of text.split(',').filter((each) => each.trim() !== '')) {
    const at = pair.indexOf('=');
    try {
      if (at < 1) throw new URIError('no name');
      pairs[pair.slice(0, at).trim()] = decodeURIComponent(pair.slice(at + 1).trim());
    } catch {
      throw new ConfigError([`${variable}: expected name=value pairs separated by commas, with URL-encoded values`]);
    }
  }
  return pairs;
}

function samplerOf({ otelTracesSampler: sampler, otelTracesSamplerArg: text }: Settings) {
  const isParentBased = sampler.startsWith('parentbased_');
  if (sampler.endsWith('always_on')) return { isParentBased, ratio: 1 };
  if (sampler.endsWith('always_off')) return { isParentBased, ratio: 0 };
  const ratio = Number(text);
  if (text.trim() === '' || !(ratio >= 0 && ratio <= 1)) {
    throw new ConfigError([`OTEL_TRACES_SAMPLER_ARG: expected a number from 0 to 1, got: ${text}`]);
  }
  return { isParentBased, ratio };
}
