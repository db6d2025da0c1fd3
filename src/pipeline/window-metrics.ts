import type { WarningType } from '../wire/contract/warnings.ts';
import type { Metrics } from '../server/telemetry/metrics.ts';
import type { Window } from './window.ts';

const component = 'pipeline';

/** Counts a stored window. */
export function countWindow(metrics: Metrics, window: Window): void {
  const { lane, counts, warnings, violations } = window;
  metrics.count('millrace_component_received_events_total', { component, lane }, counts.events);
  metrics.count('millrace_component_received_bytes_total', { component, lane }, counts.bodyBytes);
  metrics.count('millrace_component_sent_events_total', { component, lane }, counts.stored);
  countDiscarded(metrics, lane, counts.dropped, 'true');
  countDiscarded(metrics, lane, counts.dead, 'false');
  for (const { type, count } of warnings) metrics.count('millrace_ingestion_warnings_total', { type }, count);
  for (const [policy, count] of violations.byPolicy) {
    metrics.count('millrace_tracking_plan_violations_total', { policy }, count);
  }
}

function countDiscarded(
  metrics: Metrics,
  lane: string,
  reasons: ReadonlyMap<WarningType, number>,
  intentional: string,
): void {
  for (const [reason, count] of reasons) {
    metrics.count('millrace_component_discarded_events_total', { component, lane, reason, intentional }, count);
  }
}

export function countError(metrics: Metrics, error: unknown): void {
  const type = error instanceof Error ? error.name : typeof error;
  metrics.count('millrace_component_errors_total', { component, error_type: type });
}
