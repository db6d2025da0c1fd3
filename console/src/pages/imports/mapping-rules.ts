import { isJsonObject } from '../../components/json-value.ts';
import { optionsOf } from './format-options.ts';

/** What a record describes: an event, or the state of a person or a group. */
export type RecordKind = 'events' | 'persons' | 'groups';

/** Rows of the mapping editor: columns, paths or templates; empty if not set. */
export interface MappingRows {
  readonly records: RecordKind;
  /** Only of events. */
  readonly event: Rule;
  /** The person, or the key of the group. */
  readonly distinct_id: Rule;
  /** Only of persons: another id. Optional. */
  readonly anonymous_id: Rule;
  /** Only of groups. */
  readonly groupType: string;
  readonly timestamp: Rule & { readonly format: string; readonly zone: string };
  /** `undefined` means every column not used by another rule. */
  readonly properties: readonly { readonly name: string; readonly path: string }[] | undefined;
  /** Only of persons: existing values stay (`$set_once`). */
  readonly keepsValues: boolean;
}

export interface Rule {
  readonly kind: 'path' | 'constant';
  readonly value: string;
}

const noRule: Rule = { kind: 'path', value: '' };
export const emptyRows: MappingRows = {
  records: 'events',
  event: noRule,
  distinct_id: noRule,
  anonymous_id: noRule,
  groupType: '',
  timestamp: { ...noRule, format: '', zone: '' },
  properties: undefined,
  keepsValues: false,
};

/** Accepts any record, so that the preview can show the columns before there are rules. */
export const openMapping = {
  event: { constant: 'record' },
  distinct_id: { constant: 'preview' },
  timestamp: { constant: '2020-01-01T00:00:00Z' },
} as const;

/** Whether the options of the format "mapping" have no rules yet. */
export function isUnmapped(options: unknown): boolean {
  const mapping = optionsOf(options)['mapping'];
  return mapping === undefined || mapping === JSON.stringify(openMapping);
}

/** Converts rows to rules of the format "mapping". */
export function mappingOf(rows: MappingRows): Record<string, unknown> {
  const { records, event, distinct_id, anonymous_id, groupType, timestamp, properties, keepsValues } = rows;
  const { format, zone } = timestamp;
  const time = { ...ruleOf(timestamp), ...(format !== '' && { format }), ...(zone !== '' && { zone }) };
  const filled = properties?.filter(({ name, path }) => name !== '' && path !== '');
  const named = filled && Object.fromEntries(filled.map(({ name, path }) => [name, path]));
  if (records === 'groups') {
    const group = { groups: { [groupType]: ruleOf(distinct_id) }, timestamp: time };
    return { records, ...group, ...(named !== undefined && { $group_set: named }) };
  }
  if (records === 'persons') {
    const other = anonymous_id.value === '' ? {} : { anonymous_id: ruleOf(anonymous_id) };
    const person = { records, distinct_id: ruleOf(distinct_id), ...other, timestamp: time };
    if (keepsValues) return { ...person, ...(named && { $set_once: named }), others: named ? false : '$set_once' };
    return { ...person, ...(named !== undefined && { $set: named }) };
  }
  return {
    event: ruleOf(event),
    distinct_id: ruleOf(distinct_id),
    timestamp: time,
    ...(named !== undefined && { properties: named }),
  };
}

function ruleOf({ kind, value }: Rule): Record<string, string> {
  if (kind === 'constant') return { constant: value };
  return value.includes('{') ? { template: value } : { path: value };
}

export function isComplete({ records, event, distinct_id, timestamp, groupType }: MappingRows): boolean {
  const texts = [
    distinct_id.value,
    timestamp.value,
    ...(records === 'events' ? [event.value] : []),
    ...(records === 'groups' ? [groupType] : []),
  ];
  return texts.every((text) => text.trim() !== '');
}

/** Converts rules to rows, or returns `undefined` if rows cannot represent them and they must be edited as JSON. */
export function rowsOfMapping(mapping: unknown): MappingRows | undefined {
  if (!isJsonObject(mapping)) return undefined;
  const { records = 'events', timestamp, ...rest } = mapping;
  const { format = '', zone = '', ...time } = isJsonObject(timestamp) ? timestamp : { path: timestamp };
  const timeRule = readRule(time);
  if (timeRule === undefined || typeof format !== 'string' || typeof zone !== 'string') return undefined;
  const base = { ...emptyRows, timestamp: { ...timeRule, format, zone } };
  if (records === 'events') return rowsOfEvents(base, rest);
  if (records === 'persons') return rowsOfPersons(base, rest);
  return records === 'groups' ? rowsOfGroups(base, rest) : undefined;
}

type Rest = Readonly<Record<string, unknown>>;

function rowsOfEvents(base: MappingRows, { event, distinct_id, properties, ...more }: Rest): MappingRows | undefined {
  const [eventRule, idRule, named] = [readRule(event), readRule(distinct_id), readProperties(properties)];
  if (eventRule === undefined || idRule === undefined || named === null || hasMembers(more)) return undefined;
  return { ...base, event: eventRule, distinct_id: idRule, properties: named };
}

function rowsOfPersons(base: MappingRows, rest: Rest): MappingRows | undefined {
  const { distinct_id, anonymous_id = '', $set, $set_once: once, others, ...more } = rest;
  const keepsValues = others === '$set_once' || once !== undefined;
  const isUsual = keepsValues ? $set === undefined && others === (once === undefined ? '$set_once' : false) : !others;
  const [idRule, otherRule] = [readRule(distinct_id), readRule(anonymous_id)];
  const named = readProperties(keepsValues ? once : $set);
  if (idRule === undefined || otherRule === undefined || named === null || !isUsual || hasMembers(more))
    return undefined;
  return { ...base, records: 'persons', distinct_id: idRule, anonymous_id: otherRule, properties: named, keepsValues };
}

function rowsOfGroups(base: MappingRows, { groups, $group_set: set, ...more }: Rest): MappingRows | undefined {
  if (!isJsonObject(groups) || hasMembers(more)) return undefined;
  const [[groupType, key] = ['', undefined], ...others] = Object.entries(groups);
  const [keyRule, named] = [readRule(key), readProperties(set)];
  if (keyRule === undefined || named === null || others.length > 0) return undefined;
  return { ...base, records: 'groups', groupType, distinct_id: keyRule, properties: named };
}

function hasMembers(value: object): boolean {
  return Object.keys(value).length > 0;
}

function readRule(rule: unknown): Rule | undefined {
  if (typeof rule === 'string') return { kind: 'path', value: rule };
  if (!isJsonObject(rule) || Object.keys(rule).length !== 1) return undefined;
  const { path, template, constant } = rule;
  const text = path ?? template;
  if (typeof text === 'string') return { kind: 'path', value: text };
  return typeof constant === 'string' ? { kind: 'constant', value: constant } : undefined;
}

/** Returns `null` if rows cannot represent the properties. */
function readProperties(bag: unknown): MappingRows['properties'] | null {
  if (bag === undefined) return undefined;
  if (Array.isArray(bag)) return bag.map(String).map((name) => ({ name, path: name }));
  if (!isJsonObject(bag)) return null;
  const entries = Object.entries(bag);
  const rows = entries.flatMap(([name, path]) => (typeof path === 'string' ? [{ name, path }] : []));
  return rows.length === entries.length ? rows : null;
}

const columnsMax = 500;

/** Returns columns and paths of records in order of appearance: `user`, `user.id`. */
export function columnsOf(records: readonly unknown[]): string[] {
  const found = new Set<string>();
  const visit = (value: unknown, prefix: string, depth: number): void => {
    if (!isJsonObject(value) || depth > 3) return;
    for (const [key, item] of Object.entries(value)) {
      if (found.size >= columnsMax) return;
      found.add(prefix + key);
      visit(item, `${prefix}${key}.`, depth + 1);
    }
  };
  for (const record of records) visit(record, '', 0);
  return [...found];
}

const ids = [
  'distinct_id',
  'user_id',
  'userId',
  'uid',
  'user.id',
  'customer_id',
  'anonymous_id',
  'anonymousId',
  'email',
];
const commonNames = {
  event: ['event', 'event_name', 'event_type', 'action', 'name', 'type', 'kind'],
  events: ids,
  persons: [...ids.slice(0, -1), 'id', 'email'],
  groups: ['group_key', 'company_id', 'organization_id', 'account_id', 'id', 'key', 'name'],
  happened: ['timestamp', 'time', 'event_time', 'ts', 'created_at', 'createdAt', 'at', 'date'],
  changed: [
    'updated_at',
    'updatedAt',
    'modified_at',
    'last_modified',
    'last_seen',
    'timestamp',
    'created_at',
    'createdAt',
  ],
} as const;

/**
 * Guesses rows from common column names; a row without a match stays empty. Persons and groups without a column of times take
 * `today` (YYYY-MM-DD), which the user sees and can change.
 */
export function guessRows(columns: readonly string[], records: RecordKind = 'events', today = ''): MappingRows {
  const pick = (names: readonly string[]): Rule => ({
    kind: 'path',
    value: names.find((name) => columns.includes(name)) ?? '',
  });
  const time = pick(records === 'events' ? commonNames.happened : commonNames.changed);
  const isSet = records === 'events' || time.value !== '';
  return {
    ...emptyRows,
    records,
    event: pick(commonNames.event),
    distinct_id: pick(commonNames[records]),
    timestamp: { ...(isSet ? time : { kind: 'constant', value: today }), format: '', zone: '' },
  };
}
