import type { Queries } from './queries.ts';
import { defaultSessionPolicy, validSessions, type SessionPolicy } from './sessions.ts';

/** Facts about a user in addition to the record. */
export interface UserFacts {
  readonly sessions: number;
  readonly keys: number;
  /** Last use of the existing sessions and keys, if any. */
  readonly lastSeenAt: string | null;
}

/** Returns facts by user id; users without any are absent. */
export async function userFacts(
  db: Queries,
  organizationId: string,
  now: number,
  policy: SessionPolicy = defaultSessionPolicy,
): Promise<Map<number, UserFacts>> {
  const sessions = await validSessions(db, now, policy)
    .where('users.organization_id', '=', organizationId)
    .select(['sessions.user_id as userId', 'sessions.last_used_at as lastUsedAt', 'sessions.created_at as createdAt'])
    .execute();
  const keys = await db
    .selectFrom('personal_api_keys as k')
    .innerJoin('users as u', 'u.id', 'k.user_id')
    .where('u.organization_id', '=', organizationId)
    .select(['k.user_id as userId', 'k.last_used_at as lastUsedAt'])
    .execute();
  const facts = new Map<number, UserFacts>();
  const add = (userId: number, seenAt: string | null, count: 'sessions' | 'keys'): void => {
    const known = facts.get(userId) ?? { sessions: 0, keys: 0, lastSeenAt: null };
    facts.set(userId, { ...known, [count]: known[count] + 1, lastSeenAt: later(known.lastSeenAt, seenAt) });
  };
  for (const { userId, lastUsedAt, createdAt } of sessions) add(userId, lastUsedAt ?? createdAt, 'sessions');
  for (const { userId, lastUsedAt } of keys) add(userId, lastUsedAt, 'keys');
  return facts;
}

function later(one: string | null, other: string | null): string | null {
  return one === null || (other !== null && other > one) ? other : one;
}
