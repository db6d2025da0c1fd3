import { isObject } from '../../../../base/json.ts';
import { setMember, type Properties } from '../../../formats/read-values.ts';

/**
 * A record of some members alone, by their paths and values: what a function of a map reads instead of the whole record. A member within
 * another one of them is there already.
 */
export function recordOf(paths: readonly string[]): (values: readonly unknown[]) => Properties {
  const places = paths.map((path, index) => ({ steps: path.split('.'), index }));
  const outer = places.filter(
    ({ steps }) => !steps.some((_, at) => at > 0 && paths.includes(steps.slice(0, at).join('.'))),
  );
  return (values) => {
    const record: Properties = {};
    for (const { steps, index } of outer) if (values[index] !== undefined) putAt(record, steps, values[index]);
    return record;
  };
}

function putAt(target: Properties, [first = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) return setMember(target, first, value);
  const inner: Properties =
    isObject(target[first]) && Object.hasOwn(target, first) ? (target[first] as Properties) : {};
  setMember(target, first, inner);
  putAt(inner, rest, value);
}
