import type { Clock } from '../../base/clock.ts';
import { hourMs, minuteMs } from '../../base/time.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { touchKeys } from '../../stores/metadata/personal-api-keys.ts';
import { touchSessions } from '../../stores/metadata/sessions.ts';
import type { Log } from '../telemetry/log.ts';
import type { Principal } from './api-route.ts';
import { createKeyUsage } from './key-usage.ts';

/** How exactly lists show the last use. A person looks through sessions to find one that should not be there. */
const keysNotedMs = hourMs;
const sessionsNotedMs = 5 * minuteMs;

/** When keys and sessions were used, written now and then. */
export interface PrincipalUsage {
  /** @param lastUsedAt as stored; null: never */
  used(principal: Principal, lastUsedAt: string | null): void;
  flush(): Promise<void>;
  close(): Promise<void>;
}

export function createPrincipalUsage(deps: {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly log: Log;
}): PrincipalUsage {
  const { db, clock, log } = deps;
  const onError = (err: unknown): void =>
    log.warn({ err }, 'could not write when keys were last used; trying again with their next use');
  const keys = createKeyUsage({ clock, everyMs: keysNotedMs, write: (usedAt) => touchKeys(db, usedAt), onError });
  const sessions = createKeyUsage({
    clock,
    everyMs: sessionsNotedMs,
    write: (usedAt) => touchSessions(db, usedAt),
    onError,
  });
  return {
    used(principal, lastUsedAt) {
      if (principal.kind === 'key') keys.used(principal.keyId, lastUsedAt);
      else if (principal.kind === 'session') sessions.used(principal.sessionId, lastUsedAt);
    },
    async flush() {
      await keys.flush();
      await sessions.flush();
    },
    async close() {
      await keys.close();
      await sessions.close();
    },
  };
}
