import type { ImportChoice } from '../../wire/contract/import-choice.ts';
import { setMember, type Properties } from '../formats/read-values.ts';
import { mapBags, type Bag } from './property-bags.ts';
import type { Change } from './step.ts';

type ValueTables = NonNullable<NonNullable<ImportChoice['properties']>['values']>;

/** Values by a table of the property; a value that is in no table, and one that is no scalar, stays. Null leaves the property out. */
export function translateValues(tables: ValueTables): Change {
  const byName = new Map(Object.entries(tables).map(([name, table]) => [name, new Map(Object.entries(table))]));
  const translate = (bag: Bag): Bag => {
    let changed: Properties | undefined;
    for (const [name, table] of byName) {
      const value = Object.hasOwn(bag, name) ? bag[name] : undefined;
      if (value === undefined || typeof value === 'object') continue;
      const other = table.get(String(value));
      if (other === undefined) continue;
      changed ??= { ...bag };
      if (other === null) delete changed[name];
      else setMember(changed, name, other);
    }
    return changed ?? bag;
  };
  return (event) => mapBags(event, translate);
}
