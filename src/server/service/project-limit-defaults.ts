import type { LimitValues } from '../../wire/contract/project-limits.ts';
import type { Settings } from '../config/settings.ts';

export type LimitSettings = Pick<Settings, 'projectEventsPerSecond' | 'projectBytesPerSecond' | 'projectBacklogBytes'>;

/** Returns what projects without separate limits may send. */
export function limitDefaultsOf(settings: LimitSettings): LimitValues {
  return {
    events_per_second: settings.projectEventsPerSecond,
    bytes_per_second: settings.projectBytesPerSecond,
    backlog_bytes: settings.projectBacklogBytes,
  };
}
