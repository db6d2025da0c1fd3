import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';

export interface Answered {
  readonly requestId: string;
  readonly method: string;
  /** The pattern, never the path: paths of strangers would create endless series, and may contain secrets. */
  readonly route: string;
  readonly status: number;
  readonly ms: number;
}

/** Counts metrics by route and writes the access log, without query strings, which may contain keys. */
export function createNoteAnswer({ log, metrics }: { readonly log: Log; readonly metrics: Metrics }) {
  const logsAccess = log.isLevelEnabled('debug');
  return ({ requestId, method, route, status, ms }: Answered): void => {
    metrics.count('millrace_http_requests_total', { route, method, status: String(status) });
    metrics.observe('millrace_http_request_seconds', { route, method }, ms / 1000);
    if (logsAccess) log.debug({ requestId, method, route, status, ms }, 'request');
  };
}
