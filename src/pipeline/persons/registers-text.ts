/**
 * Formats registers for storage. Most properties of a person were set at the same time, so registers are grouped by time and kind:
 * `[[1609459200000000,"set",{"city":"Bern","plan":"pro"}],[1609459100000000,"beside",{"plan":"free"}]]`. The time is that of the event,
 * µs since the epoch. "beside" contains the `$set_once` of a register with a `$set` or `$unset`, and comes after it.
 *
 * Single registers, `{"plan":{"v":"pro","t":1609459200000000,"k":"set"}}`, are read as well: earlier versions wrote them, and
 * PostgreSQL contains no others.
 */
import { parseExact } from '../../base/exact-json.ts';
import type { JsonValue } from '../../base/json.ts';
import { hasStoreAlone, type Queries } from '../../stores/metadata/queries.ts';
import type { Register, Registers } from './registers.ts';

type GroupKind = Register['k'] | 'beside';
type Group = [t: number, kind: GroupKind, values: Record<string, JsonValue>];

/** Few persons have more groups; up to this number they are searched linearly. */
const groupsSearched = 8;

/** "single" writes every register separately. */
export type RegistersForm = 'grouped' | 'single';

/**
 * Returns how registers are written in this store. While a cluster is upgraded, processes of the previous version run concurrently
 * for minutes, and read single registers only.
 */
export function registersForm(db: Queries): RegistersForm {
  return hasStoreAlone(db) ? 'grouped' : 'single';
}

export function formatRegisters(registers: Registers, form: RegistersForm): string {
  // The initial state of a person without properties.
  if (registers.size === 0) return '{}';
  if (form === 'single') return JSON.stringify(Object.fromEntries(registers));
  const groups = new Groups();
  // Sorted by name: equal registers give equal text, whatever the order of their creation.
  const entries = [...registers].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, { v, t, k }] of entries) groups.add(t, k, name, v);
  for (const [name, { o }] of entries) if (o !== undefined) groups.add(o.t, 'beside', name, o.v);
  return JSON.stringify(groups.list);
}

class Groups {
  readonly list: Group[] = [];
  #byKey: Map<string, Group> | undefined;

  add(t: number, kind: GroupKind, name: string, v: JsonValue): void {
    const { 2: values } = this.#find(t, kind) ?? this.#begin(t, kind);
    if (name === '__proto__') Object.defineProperty(values, name, { value: v, enumerable: true });
    else values[name] = v;
  }

  #find(t: number, kind: GroupKind): Group | undefined {
    if (this.list.length <= groupsSearched) return this.list.find((group) => group[0] === t && group[1] === kind);
    this.#byKey ??= new Map(this.list.map((group) => [keyOf(group[0], group[1]), group]));
    return this.#byKey.get(keyOf(t, kind));
  }

  #begin(t: number, kind: GroupKind): Group {
    const group: Group = [t, kind, {}];
    this.list.push(group);
    this.#byKey?.set(keyOf(t, kind), group);
    return group;
  }
}

function keyOf(t: number, kind: GroupKind): string {
  return `${kind}${t}`;
}

export function parseRegisters(text: string): Registers {
  // Sound, here and below: only formatRegisters, now or in an earlier version, writes this text.
  const stored = parseExact(text) as unknown as Group[] | Readonly<Record<string, Register>>;
  if (!Array.isArray(stored)) return new Map(Object.entries(stored));
  const registers: Registers = new Map();
  for (const [t, kind, values] of stored) {
    for (const name of Object.keys(values)) {
      const v = values[name] ?? null;
      const main = kind === 'beside' ? registers.get(name) : undefined;
      if (kind !== 'beside') registers.set(name, { v, t, k: kind });
      else if (main !== undefined) registers.set(name, { ...main, o: { v, t } });
    }
  }
  return registers;
}
