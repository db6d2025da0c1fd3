import type { JsonObject, JsonValue } from '../../base/json.ts';
import { locate, propertyPath, readPath, setOwn, writePath, type PropertyPath } from './properties/property-path.ts';

interface Entry {
  readonly from: PropertyPath;
  readonly to: PropertyPath;
}

interface Found {
  readonly holder: JsonObject;
  readonly key: string;
  readonly value: JsonValue;
  readonly to: PropertyPath;
}

/** Up to this many names are looked for one by one; of more, the event's properties are looked up in the table. */
const lookForMax = 12;

/**
 * Renames properties in place by a table from old to new names, which may be paths. Every old value is taken out before a new
 * one is written, so that names can be swapped. Undefined: the table changes nothing.
 */
export function propertyRenaming(
  table: ReadonlyMap<string, string>,
  { ignoreCase, replace }: { readonly ignoreCase: boolean; readonly replace: boolean },
): ((properties: JsonObject) => void) | undefined {
  const entries = [...table]
    .filter(([from, to]) => from !== to)
    .map(([from, to]) => ({ from: propertyPath(from), to: propertyPath(to) }));
  if (entries.length === 0) return undefined;
  const find = ignoreCase || entries.length > lookForMax ? scanning(entries, ignoreCase) : lookingFor(entries);
  return (properties) => {
    const found = find(properties);
    if (found === undefined) return;
    for (const { holder, key } of found) delete holder[key];
    for (const { holder, key, to, value } of found) {
      const taken = !replace && readPath(properties, to) !== undefined;
      if (taken || !writePath(properties, to, value)) setOwn(holder, key, value);
    }
  };
}

function lookingFor(entries: readonly Entry[]): (properties: JsonObject) => Found[] | undefined {
  return (properties) => {
    let found: Found[] | undefined;
    for (const { from, to } of entries) {
      const place = locate(properties, from);
      const value = place?.holder[place.key];
      if (place !== undefined && value !== undefined) (found ??= []).push({ ...place, to, value });
    }
    return found;
  };
}

/** The names of the event in the table; paths that are no name of the event are looked for one by one. */
function scanning(entries: readonly Entry[], ignoreCase: boolean): (properties: JsonObject) => Found[] | undefined {
  const byName = new Map(
    entries.map((entry) => [ignoreCase ? entry.from.whole.toLowerCase() : entry.from.whole, entry]),
  );
  const inside = lookingFor(entries.filter(({ from }) => from.parts.length > 1));
  return (properties) => {
    let found: Found[] | undefined;
    for (const key of Object.keys(properties)) {
      const entry = byName.get(ignoreCase ? key.toLowerCase() : key);
      const value = properties[key];
      if (entry === undefined || value === undefined || key === entry.to.whole) continue;
      (found ??= []).push({ holder: properties, key, value, to: entry.to });
    }
    const nested = inside(properties)?.filter(({ holder }) => holder !== properties);
    return nested === undefined ? found : [...(found ?? []), ...nested];
  };
}
