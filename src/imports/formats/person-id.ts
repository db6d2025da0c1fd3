import { isNobody } from '../../base/nobody-ids.ts';
import { idOf } from './read-values.ts';

/** The first that is an id of somebody; ids such as `anonymous` or `null`, which many share, are passed over. */
export function personId(...values: readonly unknown[]): string | undefined {
  for (const value of values) {
    const id = idOf(value);
    if (id !== undefined && !isNobody(id)) return id;
  }
  return undefined;
}
