import { hashText } from '../rows/event-keys.ts';
import { createFirstValues } from '../rows/first-values.ts';

/**
 * Finds anonymous ids that are linked to several persons. Keeps only the first person of every anonymous id, 12 bytes each, and everything
 * about those that turn out to be shared.
 */
export interface SharedDevices {
  add(anonymousId: string, distinctId: string): void;
  /** Sorted by number of persons, most first. */
  readonly shared: readonly { readonly id: string; readonly persons: number }[];
  /** There may be more, because not everything could be kept. */
  readonly isIncomplete: boolean;
}

/** Linked anonymous ids and persons, each pair once: two texts each. */
export interface Pairs {
  add(anonymousId: string, distinctId: string): void;
  list(): readonly string[];
}

export function createPairs(): Pairs {
  // Nearly all have one person, and a set for each would be most of what the garbage collector has to move.
  const first = new Map<string, string>();
  const others = new Map<string, Set<string>>();
  const pairs: string[] = [];
  return {
    add: (anonymousId, distinctId) => {
      const known = first.get(anonymousId);
      if (known === distinctId) return;
      if (known === undefined) first.set(anonymousId, distinctId);
      else {
        const more = others.get(anonymousId) ?? new Set();
        if (more.has(distinctId)) return;
        others.set(anonymousId, more.add(distinctId));
      }
      pairs.push(anonymousId, distinctId);
    },
    list: () => pairs,
  };
}

export function addPairs(devices: Pick<SharedDevices, 'add'>, pairs: readonly string[]): void {
  for (let at = 0; at + 1 < pairs.length; at += 2) devices.add(pairs[at] ?? '', pairs[at + 1] ?? '');
}

interface SharedDevicesLimits {
  /** Limits of anonymous ids in total, of those with several persons, and of persons of one. */
  readonly ids: number;
  readonly shared: number;
  readonly persons: number;
}

const standardLimits: SharedDevicesLimits = { ids: 2_000_000, shared: 10_000, persons: 1_000 };

export function createSharedDevices(limits = standardLimits): SharedDevices {
  const shared = new Map<string, Set<number>>();
  const firsts = createFirstValues(limits.ids);
  const id = { low: 0, high: 0 };
  const person = { low: 0, high: 0 };
  let isIncomplete = false;
  return {
    add: (anonymousId, distinctId) => {
      hashText(anonymousId, id);
      hashText(distinctId, person);
      const first = firsts.firstOf(id.low, id.high, person.low);
      if (first === undefined) isIncomplete = true;
      else if (first !== person.low) {
        const persons = shared.get(anonymousId) ?? new Set([first]);
        if (persons.size < limits.persons) persons.add(person.low);
        if (shared.size < limits.shared) shared.set(anonymousId, persons);
        else if (!shared.has(anonymousId)) isIncomplete = true;
      }
    },
    get shared() {
      return [...shared]
        .map(([each, persons]) => ({ id: each, persons: persons.size }))
        .toSorted((a, b) => b.persons - a.persons || (a.id < b.id ? -1 : 1));
    },
    get isIncomplete() {
      return isIncomplete;
    },
  };
}
