import { isObject, type JsonObject } from '../../../base/json.ts';

/** The object that a transformation writes properties of the person to, inside the event's properties; made when it is not there. */
export function personProperties(properties: JsonObject, key: '$set' | '$set_once'): JsonObject {
  const given = Object.hasOwn(properties, key) ? properties[key] : undefined;
  if (isObject(given)) return given;
  const made: JsonObject = {};
  properties[key] = made;
  return made;
}

/** The same for reading and deleting: undefined when there is none. */
export function personPropertiesIfAny(properties: JsonObject, key: '$set' | '$set_once'): JsonObject | undefined {
  const given = Object.hasOwn(properties, key) ? properties[key] : undefined;
  return isObject(given) ? given : undefined;
}
