import { isObject, type JsonObject } from '../../../base/json.ts';

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
