import { idOf, setMember, type Json, type Properties } from '../read-values.ts';

/** A property of events that holds the key of a group, and the type of that group. */
export interface GroupProperty {
  readonly property: string;
  readonly type: string;
}

/** `company_id,plan:tier`. */
export function groupProperties(text: string): readonly GroupProperty[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
    .map((each) => {
      const [property = '', type = property] = each.split(':');
      return { property, type };
    });
}

export function groupsOf(source: Json, groups: readonly GroupProperty[]): Properties | undefined {
  let found: Properties | undefined;
  for (const { property, type } of groups) {
    const value = Object.hasOwn(source, property) ? source[property] : undefined;
    // An event may belong to several groups of a type there, but only to one here.
    const key = idOf(Array.isArray(value) ? (value as readonly unknown[])[0] : value);
    if (key === undefined) continue;
    found ??= {};
    setMember(found, type, key);
  }
  return found;
}
