import type { JsonObject } from '../../base/json.ts';
import { otherIdOf } from '../contract/profile-events.ts';
import { storedId } from './stored-id.ts';

/** Returns the other id in a merge event. Returns `undefined` for other events and without such an id. */
export function otherIdIn(event: string, properties: JsonObject): string | undefined {
  const key = otherIdOf.get(event);
  const id = key === undefined ? undefined : properties[key];
  return id ? storedId(typeof id === 'string' ? id : JSON.stringify(id)) : undefined;
}
