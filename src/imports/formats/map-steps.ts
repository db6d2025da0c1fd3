import { isObject } from '../../base/json.ts';
import { addPersonOfEvent } from './add-person-of-event.ts';
import {
  memberAt,
  type ReadMember,
  objectOfJson,
  setMember,
  type Json,
  type Properties,
  valueOfPair,
} from './read-values.ts';
import { rename, type Names } from './names.ts';
import type { Bag, Derived, Draft, Members, Pairs, PersonStep, RecordMap, Source, Step, Taken } from './record-map.ts';

/** Applies a step to the draft. Returns true to skip all later steps. */
type Run = (draft: Draft) => boolean;

type Part = 'properties' | 'set' | 'setOnce';
const partOf = { $set: 'set', $set_once: 'setOnce' } as const;

/** Returns a function that writes the properties of a draft, including person properties. */
export function propertyWriter({ properties, person = [], ids }: RecordMap): (draft: Draft) => void {
  const gather = all(person.map(personRun));
  return all(
    properties.map((step): Run => {
      if (step === 'ids') return doing((draft) => ids.add?.(draft.properties, draft.identity, draft.record));
      if (step === 'time') return doing((draft) => Object.assign(draft.properties, draft.ofTime));
      if (step === 'person') return doing((draft) => addPerson(draft, gather));
      return step === '$set' ? doing((draft) => addSet(draft, gather)) : runOf(step);
    }),
  );
}

/** Returns a function that applies some steps to a record, for a hook. */
export function propertiesBy(steps: readonly Exclude<Step, string>[]): (draft: Draft) => Properties {
  const run = all(steps.map(runOf));
  return (draft) => {
    const own = { ...draft, properties: {} };
    run(own);
    return own.properties;
  };
}

function all(runs: readonly Run[]): Run {
  return (draft) => {
    for (const run of runs) if (run(draft)) return true;
    return false;
  };
}

function doing(act: (draft: Draft) => unknown): Run {
  return (draft) => {
    act(draft);
    return false;
  };
}

function addPerson(draft: Draft, gather: Run): void {
  if (draft.identity.isPlaceholderId === true) draft.properties['$process_person_profile'] = false;
  else {
    gather(draft);
    addPersonOfEvent(draft.properties, draft.set, draft.setOnce);
  }
}

function addSet(draft: Draft, gather: Run): void {
  gather(draft);
  if (hasMembers(draft.set)) draft.properties['$set'] = draft.set;
  if (hasMembers(draft.setOnce)) draft.properties['$set_once'] = draft.setOnce;
}

function hasMembers(object: object): boolean {
  for (const _ in object) return true;
  return false;
}

function runOf(step: Exclude<Step, string>): Run {
  if ('run' in step) return (draft) => !step.isIdle(draft.record) && step.run(draft) === true;
  return 'renames' in step ? renameRun(step.renames, 'properties') : doing(adderOf(step, 'properties'));
}

function personRun(step: PersonStep): Run {
  if ('run' in step) return (draft) => !step.isIdle(draft.record) && step.run(draft) === true;
  const { into } = step;
  if (typeof into === 'object') return doing(splitBag(step as Bag, into));
  return 'renames' in step ? renameRun(step.renames, partOf[into]) : doing(adderOf(step, partOf[into]));
}

function renameRun(names: Names, part: Part): Run {
  return doing((draft) => {
    if (names.size > 0) draft[part] = renamed(draft[part], names);
  });
}

function renamed(source: Json, names: Names): Properties {
  const target: Properties = {};
  rename(source, names, target);
  return target;
}

function adderOf(step: Source, part: Part): (draft: Draft) => void {
  if ('bag' in step) return bagAdder(step, part);
  if ('members' in step) return membersAdder(step, part);
  return 'pairs' in step ? pairsAdder(step, part) : derivedAdder(step, part);
}

function derivedAdder({ of, add }: Derived, part: Part): (draft: Draft) => void {
  return of === 'members' ? (draft) => add(draft.record, draft[part]) : (draft) => add(draft.properties, draft[part]);
}

function bagAdder(bag: Bag, part: Part): (draft: Draft) => void {
  const { names, without, nothing, taken, levels = 0, prefix = '' } = bag;
  const objectOf = objectReader(bag);
  if (taken === 'keeps-own-name' && without === undefined && nothing === undefined) {
    return (draft) => {
      const source = objectOf(draft);
      if (source !== undefined) rename(source, names, draft[part]);
    };
  }
  if (taken === 'replaces' && Object.keys(bag).every((key) => copied.has(key)) && names.size === 0) {
    return (draft) => {
      const source = objectOf(draft);
      if (source !== undefined) draft[part] = hasMembers(draft[part]) ? { ...draft[part], ...source } : { ...source };
    };
  }
  const isNothing = nothingTest(nothing);
  const put = putter(taken);
  const addOne = (target: Properties, path: string, value: unknown): void => {
    const name = names.get(path);
    if (name !== null && !isNothing(value)) put(target, name ?? path, path, value);
  };
  const addAll = (source: Json, target: Properties, before: string, levelsLeft: number): void => {
    for (const key of Object.keys(source)) {
      if (before === prefix && without?.has(key) === true) continue;
      const value = source[key];
      if (levelsLeft > 0 && isObject(value)) addAll(value, target, `${before}${key}_`, levelsLeft - 1);
      else addOne(target, before + key, value);
    }
  };
  const wholeOf = bag.mayBeValue === true ? memberAt(bag.bag) : undefined;
  const own = bag.bag.slice(bag.bag.lastIndexOf('.') + 1);
  return (draft) => {
    const source = objectOf(draft);
    if (source !== undefined) addAll(source, draft[part], prefix, levels);
    else if (wholeOf !== undefined) addOne(draft[part], own, wholeOf(draft.record));
  };
}

/** Keys of a bag whose members are copied unchanged. */
const copied: ReadonlySet<string> = new Set(['bag', 'names', 'taken', 'into', 'mayBeText', 'view', 'keepsObjects']);

/** A name counts as taken in both targets. */
function splitBag(bag: Bag, { once, nothing }: { once: (name: string) => boolean; nothing: readonly unknown[] }) {
  const objectOf = objectReader(bag);
  const isNothing = nothingTest(bag.nothing);
  const isNothingOnce = nothingTest([...(bag.nothing ?? []), ...nothing]);
  return (draft: Draft): void => {
    const source = objectOf(draft);
    if (source === undefined) return;
    const found = bag.names.size === 0 ? source : renamed(source, bag.names);
    for (const name of Object.keys(found)) {
      const value = found[name];
      if (!once(name)) {
        if (!isNothing(value)) setMember(draft.set, name, value);
      } else if (!isNothingOnce(value)) setMember(draft.setOnce, name, value);
    }
  };
}

function objectReader({ bag, mayBeText, view }: Bag): (draft: Draft) => Json | undefined {
  const read: ReadMember = bag === '' ? (record) => record : memberAt(bag);
  if (mayBeText === true && view === undefined) return ({ record }) => objectOfJson(read(record));
  return (draft) => {
    const found = read(draft.record);
    const object = view === undefined ? found : view(found, draft);
    return isObject(object) ? object : undefined;
  };
}

/** `undefined` always counts as nothing. */
function nothingTest(values: readonly unknown[] = []): (value: unknown) => boolean {
  // So few values are compared faster one by one than hashed.
  const simple = values.filter((value) => typeof value !== 'object' || value === null);
  const isSimple = (value: unknown): boolean => value === undefined || simple.some((each) => each === value);
  const hasEmptyList = values.some(Array.isArray);
  const hasEmptyObject = values.some((value) => isObject(value));
  if (!hasEmptyList && !hasEmptyObject) return isSimple;
  return (value) => {
    if (typeof value !== 'object' || value === null) return isSimple(value);
    return Array.isArray(value) ? hasEmptyList && value.length === 0 : hasEmptyObject && !hasMembers(value);
  };
}

type Put = (target: Properties, name: string, ownName: string, value: unknown) => void;

function putter(taken: Taken): Put {
  if (taken === 'replaces') return (target, name, _ownName, value) => setMember(target, name, value);
  if (taken === 'is-skipped') {
    return (target, name, _ownName, value) => {
      if (!Object.hasOwn(target, name)) setMember(target, name, value);
    };
  }
  if (taken === 'keeps-own-name') {
    return (target, name, ownName, value) => setMember(target, Object.hasOwn(target, name) ? ownName : name, value);
  }
  const { prefix } = taken;
  return (target, name, ownName, value) =>
    setMember(target, Object.hasOwn(target, name) ? prefix + ownName : name, value);
}

function membersAdder(step: Members, part: Part): (draft: Draft) => void {
  const { members, nothing, takes, only, otherwise, fills = false } = step;
  const readers = Object.entries(members).map(([name, path]) => ({ name, read: step.read ?? memberAt(path) }));
  const isNothing = nothingTest(nothing);
  const discriminator = only === undefined ? undefined : memberAt(only.path);
  return (draft) => {
    const { record } = draft;
    if (discriminator !== undefined && discriminator(record) !== only?.is) return;
    for (const { name, read } of readers) {
      const value = read(record);
      const isTaken = !isNothing(value) && (takes === undefined || takes(value));
      const found = isTaken ? value : otherwise?.(record);
      if (found === undefined) continue;
      if (fills) draft[part][name] ??= found;
      else setMember(draft[part], name, found);
    }
  };
}

function pairsAdder({ pairs, names, nothing }: Pairs, part: Part): (draft: Draft) => void {
  const listOf = memberAt(pairs);
  const isNothing = nothingTest(nothing);
  return (draft) => {
    const list = listOf(draft.record);
    if (!Array.isArray(list)) return;
    for (const pair of list as readonly unknown[]) {
      if (!isObject(pair) || typeof pair['key'] !== 'string') continue;
      const value = valueOfPair(pair['value']);
      const name = names.get(pair['key']);
      if (name !== null && !isNothing(value)) setMember(draft[part], name ?? pair['key'], value);
    }
  };
}
