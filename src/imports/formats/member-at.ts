import { isObject } from '../../base/json.ts';
import type { Json } from './read-values.ts';

export type ReadMember = (record: Json) => unknown;

/** Finds the value at a path such as `properties.time`; undefined where there is none. */
export function memberAt(path: string): ReadMember {
  const [first = memberOf(''), ...rest] = path.split('.').map(memberOf);
  return rest.reduce<ReadMember>(
    (outer, inner) => (record) => {
      const object = outer(record);
      return isObject(object) ? inner(object) : undefined;
    },
    first,
  );
}

/** What every object inherits is no member of it. */
function memberOf(key: string): ReadMember {
  return key in Object.prototype
    ? (object) => (Object.hasOwn(object, key) ? object[key] : undefined)
    : (object) => object[key];
}
