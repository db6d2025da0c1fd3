import type { JsonObject } from '../../base/json.ts';
import { keyedHash } from '../../base/keyed-hash.ts';
import type { KeptOutList } from '../contract/kept-out.ts';
import { otherIdIn } from './other-id.ts';
import { storedId } from './stored-id.ts';

/** Ids whose events are not stored. */
export interface KeptOut {
  /** Whether an id is on the list, in its stored form or as sent. */
  has(id: string): boolean;
  /** Whether the event has such an id, or would link one to its person. */
  concerns(event: string, distinctId: string, properties: JsonObject): boolean;
}

export function createKeptOut({ hashKey, hashes }: KeptOutList): KeptOut {
  const known = new Set(hashes);
  const has = (id: string): boolean => known.has(keyedHash(hashKey, storedId(id)));
  return {
    has,
    concerns: (event, distinctId, properties) => {
      if (has(distinctId)) return true;
      const other = otherIdIn(event, properties);
      return other !== undefined && has(other);
    },
  };
}
