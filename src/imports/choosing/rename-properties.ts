import { setMember, type Properties } from '../formats/read-values.ts';
import { mapBags, type Bag } from './property-bags.ts';
import type { Change } from './step.ts';

/** Where the new name is taken already, the old one stays: no value is lost. */
export function renameProperties(table: Readonly<Record<string, string>>): Change {
  const names = new Map(Object.entries(table));
  const rename = (bag: Bag): Bag => {
    const renamed: Properties = {};
    let count = 0;
    for (const [name, value] of Object.entries(bag)) {
      const to = names.get(name);
      const isFree = to !== undefined && !Object.hasOwn(bag, to) && !Object.hasOwn(renamed, to);
      if (isFree) count += 1;
      setMember(renamed, isFree ? to : name, value);
    }
    return count === 0 ? bag : renamed;
  };
  return (event) => mapBags(event, rename);
}
