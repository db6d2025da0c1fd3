import { isObject, type JsonObject } from '../../../base/json.ts';
import { setOwn } from '../../property-path.ts';

/** Returns the object for properties of the person inside the event's properties; creates it if it is missing. */
export function personProperties(properties: JsonObject, key: '$set' | '$set_once'): JsonObject {
  const given = Object.hasOwn(properties, key) ? properties[key] : undefined;
  if (isObject(given)) return given;
  const made: JsonObject = {};
  properties[key] = made;
  return made;
}

/** The same for reading and deleting: `undefined` if it is missing. */
export function personPropertiesIfAny(properties: JsonObject, key: '$set' | '$set_once'): JsonObject | undefined {
  const given = Object.hasOwn(properties, key) ? properties[key] : undefined;
  return isObject(given) ? given : undefined;
}

/** Writes a property, and on request its latest value to `$set` and its first one to `$set_once` with the prefix `initial_`. */
export function writeWithPerson(
  properties: JsonObject,
  name: string,
  value: string,
  { latest, first }: { readonly latest: boolean; readonly first: boolean },
): void {
  setOwn(properties, name, value);
  if (latest) setOwn(personProperties(properties, '$set'), name, value);
  if (first) setOwn(personProperties(properties, '$set_once'), `initial_${name}`, value);
}
