import { isObject, type JsonObject, type JsonValue } from '../base/json.ts';

/** The location of a property: `a.b` is the property with that exact name if it exists, otherwise `b` inside the object `a`. */
export interface PropertyPath {
  readonly whole: string;
  readonly parts: readonly string[];
}

export function propertyPath(text: string): PropertyPath {
  return { whole: text, parts: text.split('.') };
}

/** Returns `undefined` for a missing property. Inherited names such as `constructor` never count. */
export function readPath(properties: JsonObject, path: PropertyPath): JsonValue | undefined {
  const found = locate(properties, path);
  return found?.holder[found.key];
}

export function deletePath(properties: JsonObject, path: PropertyPath): void {
  const found = locate(properties, path);
  if (found !== undefined) delete found.holder[found.key];
}

/** Replaces an existing value; a path to a missing property changes nothing. */
export function replacePath(properties: JsonObject, path: PropertyPath, value: JsonValue): void {
  const found = locate(properties, path);
  if (found !== undefined) setOwn(found.holder, found.key, value);
}

/** Writes a value and creates objects on the path. A path through a non-object is not written: returns false. */
export function writePath(properties: JsonObject, path: PropertyPath, value: JsonValue): boolean {
  let holder = properties;
  for (const part of path.parts.slice(0, -1)) {
    const inner: JsonValue | undefined = Object.hasOwn(holder, part) ? holder[part] : {};
    if (!isObject(inner)) return false;
    setOwn(holder, part, inner);
    holder = inner;
  }
  setOwn(holder, path.parts.at(-1) ?? path.whole, value);
  return true;
}

/** Assigns names from outside safely: `__proto__` becomes a plain property. */
export function setOwn(object: JsonObject, key: string, value: JsonValue): void {
  if (key !== '__proto__') object[key] = value;
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Returns the text of an own property; empty for any other value. */
export function ownText(properties: JsonObject, key: string): string {
  const value = Object.hasOwn(properties, key) ? properties[key] : undefined;
  return typeof value === 'string' ? value : '';
}

/** Changes the texts of own properties in place; empty and other values stay. */
export function changeOwnTexts(
  holder: JsonValue | undefined,
  names: readonly string[],
  change: (text: string) => string,
): void {
  if (!isObject(holder)) return;
  for (const name of names) {
    const text = ownText(holder, name);
    if (text !== '') setOwn(holder, name, change(text));
  }
}

/** Returns the object that contains the property, and its name there. */
export function locate(properties: JsonObject, path: PropertyPath): { holder: JsonObject; key: string } | undefined {
  if (Object.hasOwn(properties, path.whole)) return { holder: properties, key: path.whole };
  let holder = properties;
  const last = path.parts.length - 1;
  for (let index = 0; index < last; index++) {
    const part = path.parts[index] ?? '';
    const inner = Object.hasOwn(holder, part) ? holder[part] : undefined;
    if (!isObject(inner)) return undefined;
    holder = inner;
  }
  const key = path.parts[last] ?? '';
  return last > 0 && Object.hasOwn(holder, key) ? { holder, key } : undefined;
}
