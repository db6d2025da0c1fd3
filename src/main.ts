/** Entry point of the service: passes the settings to service/. */
import type { Settings } from './server/config/settings.ts';
import { createService, type Service } from './server/service/start.ts';
import { createLog, stderrLines, type Log } from './server/telemetry/log.ts';
import { createMetrics } from './server/telemetry/metrics.ts';

export type { StartedService } from './server/service/start.ts';

export interface Millrace extends Service {
  readonly log: Log;
}

/** @throws ConfigError if settings contradict each other */
export function createMillrace(settings: Settings): Millrace {
  const metrics = createMetrics();
  const log = createLog(
    settings.logLevel,
    stderrLines(() => metrics.count('millrace_log_lines_dropped_total', {})),
  );
  return { ...createService(settings, { log, metrics }), log };
}
