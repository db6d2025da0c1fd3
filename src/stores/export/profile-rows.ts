import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isoOfMicros } from '../events/micros.ts';
import { parseRegisters } from '../../pipeline/persons/registers-text.ts';
import { propertiesOf, type Register, type Registers } from '../../pipeline/persons/registers.ts';
import type { StoredGroup, StoredPerson } from '../../pipeline/persons/profile-pages.ts';
import type { Column, Row } from './columns.ts';

export const personColumns: readonly Column[] = [
  { name: 'uuid', type: 'text' },
  { name: 'distinct_ids', type: 'json' },
  { name: 'first_distinct_id', type: 'text' },
  { name: 'is_identified', type: 'boolean' },
  { name: 'created_at', type: 'time' },
  { name: 'properties', type: 'json' },
  { name: 'changes', type: 'json' },
];

export function personRow(person: StoredPerson): Row {
  const registers = parseRegisters(person.registers);
  return [
    person.uuid,
    JSON.stringify(person.distinctIds),
    person.firstId,
    person.isIdentified,
    BigInt(person.createdAtMicros),
    JSON.stringify(propertiesOf(registers)),
    JSON.stringify(changesOf(registers)),
  ];
}

export const groupColumns: readonly Column[] = [
  { name: 'group_type', type: 'text' },
  { name: 'group_type_index', type: 'integer' },
  { name: 'group_key', type: 'text' },
  { name: 'created_at', type: 'time' },
  { name: 'properties', type: 'json' },
  { name: 'changes', type: 'json' },
];

export function groupRow(group: StoredGroup): Row {
  const registers = parseRegisters(group.registers);
  return [
    group.type,
    BigInt(group.typeIndex),
    group.key,
    BigInt(group.createdAtMicros),
    JSON.stringify(propertiesOf(registers)),
    JSON.stringify(changesOf(registers)),
  ];
}

/** The persons model of PostHog's batch exports: a row per distinct_id. */
export const posthogPersonColumns: readonly Column[] = [
  { name: 'team_id', type: 'integer' },
  { name: 'distinct_id', type: 'text' },
  { name: 'person_id', type: 'text' },
  { name: 'properties', type: 'json' },
  { name: 'person_version', type: 'integer' },
  { name: 'person_distinct_id_version', type: 'integer' },
  { name: 'created_at', type: 'time' },
  { name: 'is_deleted', type: 'boolean' },
  { name: '_inserted_at', type: 'time' },
];

export function posthogPersonRows(projectId: number, person: StoredPerson): Row[] {
  const properties = JSON.stringify(propertiesOf(parseRegisters(person.registers)));
  const createdAt = BigInt(person.createdAtMicros);
  return person.distinctIds.map((id) => [
    BigInt(projectId),
    id,
    person.uuid,
    properties,
    BigInt(person.version),
    0n,
    createdAt,
    false,
    createdAt,
  ]);
}

/** A row of PostHog's table of groups; its batch exports have none. */
export const posthogGroupColumns: readonly Column[] = [
  { name: 'team_id', type: 'integer' },
  { name: 'group_type', type: 'text' },
  { name: 'group_type_index', type: 'integer' },
  { name: 'group_key', type: 'text' },
  { name: 'group_properties', type: 'json' },
  { name: 'created_at', type: 'time' },
];

export function posthogGroupRow(projectId: number, group: StoredGroup): Row {
  const properties = JSON.stringify(propertiesOf(parseRegisters(group.registers)));
  return [BigInt(projectId), group.type, BigInt(group.typeIndex), group.key, properties, BigInt(group.createdAtMicros)];
}

/** The properties that events set at one time, in one way. */
interface Change {
  readonly at: string;
  readonly set?: JsonObject;
  readonly set_once?: JsonObject;
  readonly unset?: string[];
}

/** Returns what the properties were computed from: which were set when, oldest first. */
export function changesOf(registers: Registers): Change[] {
  const byTime = new Map<number, ChangesAt>();
  const at = (t: number): ChangesAt => {
    const known = byTime.get(t) ?? { set: [], once: [], unset: [] };
    byTime.set(t, known);
    return known;
  };
  const byName = [...registers].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, register] of byName) add(at, name, register);
  return [...byTime].sort(([a], [b]) => a - b).map(([t, changes]) => changeOf(t, changes));
}

function changeOf(t: number, { set, once, unset }: ChangesAt): Change {
  const at = isoOfMicros(BigInt(t));
  const isSet = set.length > 0 && { set: Object.fromEntries(set) };
  const isOnce = once.length > 0 && { set_once: Object.fromEntries(once) };
  return { at, ...isSet, ...isOnce, ...(unset.length > 0 && { unset }) };
}

interface ChangesAt {
  readonly set: Member[];
  readonly once: Member[];
  readonly unset: string[];
}

type Member = [string, JsonValue];

function add(at: (t: number) => ChangesAt, name: string, { k, v, t, o }: Register): void {
  if (k === 'set') at(t).set.push([name, v]);
  else if (k === 'once') at(t).once.push([name, v]);
  else at(t).unset.push(name);
  if (o !== undefined) at(o.t).once.push([name, o.v]);
}
