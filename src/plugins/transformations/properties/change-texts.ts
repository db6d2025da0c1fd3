import { isObject, type JsonValue } from '../../../base/json.ts';
import { setOwn } from '../../property-path.ts';

/** Changes every text in the value in place, through lists and objects; property names stay. Returns the new value. */
export function changeTexts(value: JsonValue, change: (text: string) => string): JsonValue {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) value[index] = changeTexts(item, change);
  } else if (isObject(value)) {
    for (const [key, item] of Object.entries(value)) {
      const changed = changeTexts(item, change);
      if (changed !== item) setOwn(value, key, changed);
    }
  }
  return value;
}
