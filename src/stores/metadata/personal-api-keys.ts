import type { Selectable } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import { keyHash, newId, newKey } from '../../base/ids.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import type { Role } from '../../wire/contract/roles.ts';
import { isGrantedScope, type GrantedScope } from '../../wire/contract/scopes.ts';
import type { Database } from './database.ts';
import { inTransaction, type Queries } from './queries.ts';

/** Longest label, in characters. */
const keyLabelLengthMax = 40;

/** A personal key as shown; the key itself is only known when it is created. */
export interface PersonalApiKey {
  readonly id: string;
  readonly userId: number;
  readonly label: string;
  readonly maskValue: string;
  readonly scopes: readonly string[];
  /** `null` means every project of the organisation. */
  readonly scopedProjects: readonly number[] | null;
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
  readonly lastRolledAt: string | null;
  readonly createdAt: string;
}

/** A key together with its secret, which is shown once. */
export interface IssuedKey {
  readonly key: PersonalApiKey;
  readonly value: string;
}

export interface NewPersonalApiKey {
  readonly userId: number;
  readonly label: string;
  readonly scopes: readonly string[];
  readonly scopedProjects?: readonly number[] | null;
  /** ISO 8601 UTC with microseconds. `null` or absent means never. */
  readonly expiresAt?: string | null;
  /** By default a new random key. */
  readonly value?: string;
}

/**
 * @throws ApiError for `label` (blank, max_length) and `scopes` (required, invalid_input); a unique violation when the value is taken
 */
export async function createPersonalApiKey(db: Queries, input: NewPersonalApiKey, now: number): Promise<IssuedKey> {
  checkLabel(input.label);
  checkScopes(input.scopes);
  const value = input.value ?? newKey('phx_');
  const row = {
    id: newId(),
    user_id: input.userId,
    label: input.label,
    secure_value: keyHash(value),
    mask_value: masked(value),
    scopes: JSON.stringify(input.scopes),
    scoped_projects: input.scopedProjects ? JSON.stringify(input.scopedProjects) : null,
    expires_at: input.expiresAt ?? null,
    last_used_at: null,
    last_rolled_at: null,
    created_at: isoMicros(now),
  };
  await db.insertInto('personal_api_keys').values(row).execute();
  return { key: toKey(row), value };
}

/** Lists the keys of a user, newest first. */
export async function listPersonalApiKeys(db: Queries, userId: number): Promise<PersonalApiKey[]> {
  const rows = await db
    .selectFrom('personal_api_keys')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute();
  return rows.map(toKey);
}

/** Returns `undefined` if this user has no such key. */
export async function getPersonalApiKey(db: Queries, userId: number, id: string): Promise<PersonalApiKey | undefined> {
  const row = await db
    .selectFrom('personal_api_keys')
    .selectAll()
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .executeTakeFirst();
  return row && toKey(row);
}

export interface KeyHolder extends PersonalApiKey {
  readonly organizationId: string;
  readonly role: Role;
}

/** Finds the key with this keyHash, expired or not (see hasExpired), with organisation and role of its active user. */
export async function findPersonalApiKey(db: Queries, hash: string): Promise<KeyHolder | undefined> {
  const row = await db
    .selectFrom('personal_api_keys')
    .innerJoin('users', 'users.id', 'personal_api_keys.user_id')
    .selectAll('personal_api_keys')
    .select(['users.organization_id', 'users.role'])
    .where('secure_value', '=', hash)
    .where('users.deactivated_at', 'is', null)
    .executeTakeFirst();
  return row && { ...toKey(row), organizationId: row.organization_id, role: row.role };
}

/** `now` in ms since the epoch. */
export function hasExpired(key: { readonly expiresAt: string | null }, now: number): boolean {
  return key.expiresAt !== null && Date.parse(key.expiresAt) <= now;
}

/** Gives the key a new value and the expiry, and invalidates the old one immediately. Returns undefined if this user has no such key. */
export async function rollPersonalApiKey(
  db: Queries,
  { userId, id, expiresAt }: { readonly userId: number; readonly id: string; readonly expiresAt: string | null },
  now: number,
): Promise<IssuedKey | undefined> {
  const value = newKey('phx_');
  const row = await db
    .updateTable('personal_api_keys')
    .set({
      secure_value: keyHash(value),
      mask_value: masked(value),
      expires_at: expiresAt,
      last_rolled_at: isoMicros(now),
    })
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
  return row && { key: toKey(row), value };
}

/** Returns false if this user has no such key. */
export async function deletePersonalApiKey(db: Queries, userId: number, id: string): Promise<boolean> {
  const row = await db
    .deleteFrom('personal_api_keys')
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** Sets last_used_at by key id; a time before the stored one changes nothing. The caller decides how often. */
export async function touchKeys(db: Queries, lastUsedAt: ReadonlyMap<string, string>): Promise<void> {
  if (lastUsedAt.size === 0) return;
  // Sorted, so that two processes cannot deadlock.
  const entries = [...lastUsedAt].toSorted(([a], [b]) => (a < b ? -1 : 1));
  await inTransaction(db, async (tx) => {
    for (const [id, time] of entries) {
      await tx
        .updateTable('personal_api_keys')
        .set({ last_used_at: time })
        .where('id', '=', id)
        .where((eb) => eb.or([eb('last_used_at', 'is', null), eb('last_used_at', '<', time)]))
        .execute();
    }
  });
}

function checkLabel(label: string): void {
  if (label.trim() === '') throw new ApiError('blank', 'This field may not be blank.', { attr: 'label' });
  if ([...label].length > keyLabelLengthMax) {
    const detail = `Ensure this field has no more than ${keyLabelLengthMax} characters, got: ${[...label].length}.`;
    throw new ApiError('max_length', detail, { attr: 'label' });
  }
}

function checkScopes(scopes: readonly string[]): asserts scopes is readonly GrantedScope[] {
  if (scopes.length === 0) {
    throw new ApiError('required', 'Give at least one scope, such as "plugin:read", or "*" for all.', {
      attr: 'scopes',
    });
  }
  const unknown = scopes.find((scope) => !isGrantedScope(scope));
  if (unknown !== undefined) {
    throw new ApiError('invalid_input', `Invalid scope: ${unknown}. Expected "object:read", "object:write" or "*".`, {
      attr: 'scopes',
    });
  }
}

/** Shows enough of a key to recognise it, too little to use it. */
function masked(value: string): string {
  return `${value.slice(0, 4)}...${value.slice(-4)}`;
}

function toKey(row: Selectable<Database['personal_api_keys']>): PersonalApiKey {
  return {
    id: row.id,
    userId: row.user_id,
    label: row.label,
    maskValue: row.mask_value,
    // Sound: only this file writes these columns.
    scopes: JSON.parse(row.scopes) as string[],
    scopedProjects: row.scoped_projects === null ? null : (JSON.parse(row.scoped_projects) as number[]),
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    lastRolledAt: row.last_rolled_at,
    createdAt: row.created_at,
  };
}
