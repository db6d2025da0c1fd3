/** Dependencies of an event log that several processes share: cursors of the metadata store, metrics, the log. */
import { readCursors } from '../../pipeline/cursors.ts';
import { expiredPlaces } from '../../pipeline/log-marks.ts';
import type { Settings } from '../config/settings.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { ServiceDeps } from './service-deps.ts';
import type { SharedReaderDeps, SharedWriterDeps } from './stores.ts';

const component = 'event_log';
const hourMs = 3_600_000;

export function sharedWriterDeps({ db, metrics, log }: Pick<ServiceDeps, 'db' | 'metrics' | 'log'>): SharedWriterDeps {
  return {
    cursors: () => readCursors(db),
    onAnswer: (lane, seconds) => metrics.observe('millrace_log_append_seconds', { lane }, seconds),
    onFailure: (operation, err) => {
      metrics.count('millrace_log_failures_total', { operation });
      log.debug({ component, operation, err }, 'event log operation failed');
    },
    onProblem: (sentence) => log.error({ component }, sentence),
  };
}

interface ReaderParts extends Pick<ServiceDeps, 'db' | 'log'> {
  readonly settings: Pick<Settings, 'eventLogRetentionHours'>;
  readonly metrics: Metrics;
}

export function sharedReaderDeps({ settings, db, metrics, log }: ReaderParts): SharedReaderDeps {
  const keepMs = settings.eventLogRetentionHours * hourMs;
  return {
    ...(keepMs > 0 && { expired: (places) => expiredPlaces(db, places, keepMs) }),
    onRead: (lane, records, bytes) => {
      if (records === 0) return;
      metrics.count('millrace_log_read_records_total', { lane }, records);
      metrics.count('millrace_log_read_bytes_total', { lane }, bytes);
    },
    onFailure: (operation, err) => {
      metrics.count('millrace_log_failures_total', { operation });
      log.debug({ component, operation, err }, 'event log operation failed');
    },
    onProblem: (sentence) => log.error({ component }, sentence),
  };
}
