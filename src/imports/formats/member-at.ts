import { isObject } from '../../base/json.ts';
import type { Json } from './read-values.ts';

export type ReadMember = (record: Json) => unknown;

/** Finds the value at a path such as `properties.time`; undefined where there is none. */
export function memberAt(path: string): ReadMember {
  const [first = '', ...rest] = path.split('.');
  const outer = memberOf(first);
  if (rest.length === 0) return outer;
  const inner = memberAt(rest.join('.'));
  return (record) => {
    const object = outer(record);
    return isObject(object) ? inner(object) : undefined;
  };
}

/** What every object inherits is no member of it. */
function memberOf(key: string): ReadMember {
  if (key in Object.prototype) return (object) => (Object.hasOwn(object, key) ? object[key] : undefined);
  return (object) => object[key];
}
