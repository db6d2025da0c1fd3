/** The service, for whoever starts it: parses nothing, opens nothing, hands the settings to service/. */
import type { Settings } from './config/settings.ts';
import { createService, type Service } from './service/start.ts';
import { createLog, stderrLines, type Log } from './telemetry/log.ts';
import { createMetrics } from './telemetry/metrics.ts';

export type { StartedService } from './service/start.ts';

export interface Millrace extends Service {
  readonly log: Log;
}

/** Throws ConfigError when the settings contradict each other. */
export function createMillrace(settings: Settings): Millrace {
  const metrics = createMetrics();
  const log = createLog(
    settings.logLevel,
    stderrLines(() => metrics.count('millrace_log_lines_dropped_total', {})),
  );
  return { ...createService(settings, { log, metrics }), log };
}
