/**
 * Registers as text, as they are stored. Most properties of a person were said at one time, so what was said at one time, in one way,
 * stands together: `[[1609459200000000,"set",{"city":"Bern","plan":"pro"}],[1609459100000000,"beside",{"plan":"free"}]]`. The time is
 * that of the event, µs since the epoch. "beside" holds the `$set_once` beside a `$set` or `$unset`, and comes after it.
 *
 * Registers that stand by themselves, `{"plan":{"v":"pro","t":1609459200000000,"k":"set"}}`, are read as well: earlier versions wrote
 * them, and PostgreSQL has no others.
 */
import { parseExact } from '../../base/exact-json.ts';
import type { JsonValue } from '../../base/json.ts';
import { hasStoreAlone, type Queries } from '../../stores/metadata/queries.ts';
import type { Register, Registers } from './registers.ts';

type Way = Register['k'] | 'beside';
type Group = [t: number, way: Way, values: Record<string, JsonValue>];

/** Hardly anybody says things at more different times; groups are looked for one by one up to here. */
const groupsSearched = 8;

/** "single": every register by itself. */
export type RegistersForm = 'grouped' | 'single';

/**
 * How registers are written in this store. While a cluster is upgraded, processes of the version before work beside this one for
 * minutes, and read single ones only.
 */
export function registersForm(db: Queries): RegistersForm {
  return hasStoreAlone(db) ? 'grouped' : 'single';
}

export function formatRegisters(registers: Registers, form: RegistersForm): string {
  // So does a person begin of whom nothing was said yet.
  if (registers.size === 0) return '{}';
  if (form === 'single') return JSON.stringify(Object.fromEntries(registers));
  const groups = new Groups();
  // By name: the same registers are the same text, in whatever order they came to be.
  const entries = [...registers].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, { v, t, k }] of entries) groups.add(t, k, name, v);
  for (const [name, { o }] of entries) if (o !== undefined) groups.add(o.t, 'beside', name, o.v);
  return JSON.stringify(groups.list);
}

class Groups {
  readonly list: Group[] = [];
  #byKey: Map<string, Group> | undefined;

  add(t: number, way: Way, name: string, v: JsonValue): void {
    const { 2: values } = this.#find(t, way) ?? this.#begin(t, way);
    if (name === '__proto__') Object.defineProperty(values, name, { value: v, enumerable: true });
    else values[name] = v;
  }

  #find(t: number, way: Way): Group | undefined {
    if (this.list.length <= groupsSearched) return this.list.find((group) => group[0] === t && group[1] === way);
    this.#byKey ??= new Map(this.list.map((group) => [keyOf(group[0], group[1]), group]));
    return this.#byKey.get(keyOf(t, way));
  }

  #begin(t: number, way: Way): Group {
    const group: Group = [t, way, {}];
    this.list.push(group);
    this.#byKey?.set(keyOf(t, way), group);
    return group;
  }
}

function keyOf(t: number, way: Way): string {
  return `${way}${t}`;
}

export function parseRegisters(text: string): Registers {
  // Sound, here and below: only formatRegisters, now or in an earlier version, writes this text.
  const stored = parseExact(text) as unknown as Group[] | Readonly<Record<string, Register>>;
  if (!Array.isArray(stored)) return new Map(Object.entries(stored));
  const registers: Registers = new Map();
  for (const [t, way, values] of stored) {
    for (const name of Object.keys(values)) {
      const v = values[name] ?? null;
      const main = way === 'beside' ? registers.get(name) : undefined;
      if (way !== 'beside') registers.set(name, { v, t, k: way });
      else if (main !== undefined) registers.set(name, { ...main, o: { v, t } });
    }
  }
  return registers;
}
