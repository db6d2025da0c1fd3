import type { JsonObject } from '../../base/json.ts';
import { otherIdOf } from '../contract/profile-events.ts';
import { storedId } from './stored-id.ts';

/** The id that a merge event names beside its own; undefined: it names none, or is no such event. */
export function otherIdIn(event: string, properties: JsonObject): string | undefined {
  const key = otherIdOf.get(event);
  const id = key === undefined ? undefined : properties[key];
  return id ? storedId(typeof id === 'string' ? id : JSON.stringify(id)) : undefined;
}
