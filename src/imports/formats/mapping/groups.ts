import { idOf, setMember, type Json, type Properties } from '../read-values.ts';
import type { BagRule } from './bag-rule.ts';

/** Type → key, of those that a record has. */
export function groupsOf(bag: BagRule, record: Json): Properties {
  const found: Properties = {};
  bag.addTo(record, found);
  const groups: Properties = {};
  for (const [type, value] of Object.entries(found)) {
    const key = idOf(value);
    if (key !== undefined) setMember(groups, type, key);
  }
  return groups;
}
