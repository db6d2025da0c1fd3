import { isObject } from '../../base/json.ts';
import { asNumber } from './read-values.ts';

/** The one of `string_value`, `int_value`, `float_value` and `double_value` that is there; JSON exports write integers as text. */
export function valueOfPair(value: unknown): unknown {
  if (!isObject(value)) return value;
  const text = value['string_value'];
  if (text !== undefined && text !== null) return text;
  for (const type of ['int_value', 'double_value', 'float_value']) {
    const number = value[type];
    if (number !== undefined && number !== null) return asNumber(number);
  }
  return undefined;
}
