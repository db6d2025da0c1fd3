import type { NameLists } from '../../wire/contract/import-choice.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';
import { isObject } from '../../base/json.ts';
import { setMember, type Properties } from '../formats/read-values.ts';
import { createNameList } from './name-list.ts';
import { mapBags, type Bag } from './property-bags.ts';
import { importMarks, type Change } from './step.ts';

/** What an event is made of rather than what it tells: a list of what to take need not name it. */
const structure: ReadonlySet<string> = new Set(
  `$set $set_once $unset $group_set $group_type $group_key $groups $anon_distinct_id alias $process_person_profile $import_identity
  $session_id`.split(/\s+/),
);
const bags: ReadonlySet<string> = new Set(['$set', '$set_once', '$group_set']);

export function listProperties(lists: NameLists): Change {
  const judge = createNameList(lists);
  const isKept = (name: string): boolean => {
    const by = judge(name);
    return by === undefined || importMarks.has(name) || (by === 'only' && structure.has(name));
  };
  const list = (bag: Bag): Bag => {
    const names = Object.keys(bag);
    const kept = names.filter(isKept);
    if (kept.length === names.length) return bag;
    const listed: Properties = {};
    for (const name of kept) setMember(listed, name, bag[name]);
    return listed;
  };
  return (event) => withoutEmpty(mapBags(event, list), event.properties);
}

/** A `$set` of which nothing is left is none. */
function withoutEmpty(event: WireEvent, before: Bag): WireEvent {
  if (event.properties === before) return event;
  const entries = Object.entries(event.properties).filter(
    ([name, value]) => !(bags.has(name) && isObject(value) && Object.keys(value).length === 0),
  );
  return { ...event, properties: Object.fromEntries(entries) };
}
