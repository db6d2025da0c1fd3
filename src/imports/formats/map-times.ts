import { memberAt } from './member-at.ts';
import type { TimeForm, TimeRule } from './record-map.ts';
import { epochTime, textTime } from './times.ts';

/** The rule of a time that stands at one place. */
export function timeAt(form: TimeForm, otherwise: TimeRule['otherwise']): TimeRule {
  const { path, zone, numbers, unit } = form;
  const valueOf = memberAt(path);
  return {
    form,
    from: [path],
    read: (record) => {
      const value = valueOf(record);
      const time = unit === undefined ? textTime(value, zone) : undefined;
      return time ?? (numbers === undefined ? undefined : epochTime(value, unit, numbers));
    },
    otherwise,
  };
}
