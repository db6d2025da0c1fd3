import { isoMicros } from '../../base/clock.ts';
import { dayMs } from '../../base/time.ts';
import { ApiError } from '../../wire/contract/errors.ts';

/** Returns the latest permitted expiry of a key that is issued now; `undefined` for no limit. */
export function latestExpiry(keyDaysMax: number | undefined, now: number): string | undefined {
  return keyDaysMax === undefined ? undefined : isoMicros(now + keyDaysMax * dayMs);
}

/** @throws ApiError required or max_value if the policy requires an earlier expiry. */
export function checkExpiry(expiresAt: string | null, keyDaysMax: number | undefined, now: number): void {
  const latest = latestExpiry(keyDaysMax, now);
  if (latest === undefined || (expiresAt !== null && expiresAt <= latest)) return;
  const rule = `Keys of this service expire within ${keyDaysMax} ${keyDaysMax === 1 ? 'day' : 'days'}`;
  throw new ApiError(
    expiresAt === null ? 'required' : 'max_value',
    `${rule}: expected an expiry of ${latest} at the latest, got: ${expiresAt ?? 'none'}.`,
    { attr: 'expires_at' },
  );
}
