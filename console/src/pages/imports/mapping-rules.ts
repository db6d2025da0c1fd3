import { isJsonObject } from '../../components/json-value.ts';
import { optionsOf } from './format-options.ts';

/** Rows of the mapping editor: columns, paths or templates; empty if not set. */
export interface MappingRows {
  readonly event: Rule;
  readonly distinct_id: Rule;
  readonly timestamp: Rule & { readonly format: string; readonly zone: string };
  /** `undefined` means every column not used by another rule. */
  readonly properties: readonly { readonly name: string; readonly path: string }[] | undefined;
}

export interface Rule {
  readonly kind: 'path' | 'constant';
  readonly value: string;
}

const noRule: Rule = { kind: 'path', value: '' };
export const emptyRows: MappingRows = {
  event: noRule,
  distinct_id: noRule,
  timestamp: { ...noRule, format: '', zone: '' },
  properties: undefined,
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
export function mappingOf({ event, distinct_id, timestamp, properties }: MappingRows): Record<string, unknown> {
  const { format, zone } = timestamp;
  const time = { ...ruleOf(timestamp), ...(format !== '' && { format }), ...(zone !== '' && { zone }) };
  const named = properties?.filter(({ name, path }) => name !== '' && path !== '');
  return {
    event: ruleOf(event),
    distinct_id: ruleOf(distinct_id),
    timestamp: time,
    ...(named !== undefined && { properties: Object.fromEntries(named.map(({ name, path }) => [name, path])) }),
  };
}

function ruleOf({ kind, value }: Rule): Record<string, string> {
  if (kind === 'constant') return { constant: value };
  return value.includes('{') ? { template: value } : { path: value };
}

export function isComplete({ event, distinct_id, timestamp }: MappingRows): boolean {
  return [event, distinct_id, timestamp].every(({ value }) => value.trim() !== '');
}

/** Converts rules to rows, or returns `undefined` if rows cannot represent them and they must be edited as JSON. */
export function rowsOfMapping(mapping: unknown): MappingRows | undefined {
  if (!isJsonObject(mapping)) return undefined;
  const { event, distinct_id, timestamp, properties, ...others } = mapping;
  if (Object.keys(others).length > 0) return undefined;
  const { format = '', zone = '', ...time } = isJsonObject(timestamp) ? timestamp : { path: timestamp };
  const rules = [event, distinct_id, time].map(readRule);
  const named = readProperties(properties);
  const [eventRule, idRule, timeRule] = rules;
  if (eventRule === undefined || idRule === undefined || timeRule === undefined || named === null) return undefined;
  if (typeof format !== 'string' || typeof zone !== 'string') return undefined;
  return { event: eventRule, distinct_id: idRule, timestamp: { ...timeRule, format, zone }, properties: named };
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

const commonNames = {
  event: ['event', 'event_name', 'event_type', 'action', 'name', 'type', 'kind'],
  distinct_id: [
    'distinct_id',
    'user_id',
    'userId',
    'uid',
    'user.id',
    'customer_id',
    'anonymous_id',
    'anonymousId',
    'email',
  ],
  timestamp: ['timestamp', 'time', 'event_time', 'ts', 'created_at', 'createdAt', 'at', 'date'],
} as const;

/** Guesses rows from common column names; a row without a match stays empty. */
export function guessRows(columns: readonly string[]): MappingRows {
  const pick = (names: readonly string[]): Rule => ({
    kind: 'path',
    value: names.find((name) => columns.includes(name)) ?? '',
  });
  return {
    event: pick(commonNames.event),
    distinct_id: pick(commonNames.distinct_id),
    timestamp: { ...pick(commonNames.timestamp), format: '', zone: '' },
    properties: undefined,
  };
}
