import type { PersonalApiKeyRecord } from '../../../../src/wire/contract/keys.ts';
import { apiQuery } from '../../api/queries.ts';
import { request } from '../../api/request.ts';

export type Key = PersonalApiKeyRecord;
/** Response of create and roll, the only time the value is visible. */
export type KeyWithValue = Key & { readonly value: string };

export const keysPath = '/api/personal_api_keys';
export const keysQuery = apiQuery<readonly Key[]>(keysPath);

/** What the service permits for new keys. */
export const keyPolicyQuery = apiQuery<{ readonly key_days_max: number | null }>('/api/scopes');

interface NewKey {
  readonly label: string;
  readonly scopes: readonly string[];
  /** `null` means every project of the organisation. */
  readonly scoped_teams: readonly number[] | null;
  /** ISO time; `null` means never. */
  readonly expires_at: string | null;
}

export function createKey(key: NewKey): Promise<KeyWithValue> {
  return request<KeyWithValue>(keysPath, { method: 'POST', body: key });
}

/** Gives the key a new value; the old one stops working immediately. */
export function rollKey(id: string): Promise<KeyWithValue> {
  return request<KeyWithValue>(`${keysPath}/${id}/roll`, { method: 'POST' });
}

export function revokeKey(id: string): Promise<void> {
  return request<void>(`${keysPath}/${id}`, { method: 'DELETE' });
}
