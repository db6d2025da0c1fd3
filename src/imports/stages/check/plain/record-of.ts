import { isObject } from '../../../../base/json.ts';
import { setMember, type Properties } from '../../../formats/read-values.ts';

/**
 * A record of some members alone, by their paths and values: what a function of a map reads instead of the whole record. A member within
 * another one of them is there already. `nothing`: texts that stand for no value where a member of the record itself is one.
 */
export function recordOf(
  paths: readonly string[],
  nothing: ReadonlySet<string> = new Set(),
): (values: readonly unknown[]) => Properties {
  const places = paths.map((path, index) => ({ steps: path.split('.'), index }));
  const outer = places.filter(
    ({ steps }) => !steps.some((_, at) => at > 0 && paths.includes(steps.slice(0, at).join('.'))),
  );
  return (values) => {
    const record: Properties = {};
    for (const { steps, index } of outer) {
      const value = values[index];
      const isNothing = steps.length === 1 && typeof value === 'string' && nothing.has(value);
      if (value !== undefined && !isNothing) putAt(record, steps, value);
    }
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
