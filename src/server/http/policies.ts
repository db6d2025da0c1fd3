import { hourMs, minuteMs } from '../../base/time.ts';
import type { SessionPolicy } from '../../stores/metadata/sessions.ts';
import type { Settings } from '../config/settings.ts';

export interface Policies {
  readonly sessionPolicy: SessionPolicy;
  /** Days within which new and rolled keys must expire; `undefined` for no limit. */
  readonly keyDaysMax: number | undefined;
}

/** Returns when sessions end and keys must expire, according to the settings. */
export function policiesOf({
  sessionHoursMax,
  sessionIdleMinutes,
  keyDaysMax,
}: Pick<Settings, 'sessionHoursMax' | 'sessionIdleMinutes' | 'keyDaysMax'>): Policies {
  return {
    sessionPolicy: {
      lifeMsMax: sessionHoursMax * hourMs,
      idleMs: sessionIdleMinutes === 0 ? undefined : sessionIdleMinutes * minuteMs,
    },
    keyDaysMax: keyDaysMax === 0 ? undefined : keyDaysMax,
  };
}
