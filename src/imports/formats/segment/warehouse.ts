import { isObject } from '../../../base/json.ts';
import { unreadable, type NoEvents } from '../event-writer.ts';
import { setMember, type Json, type Properties } from '../read-values.ts';
import { anyTime } from '../times.ts';
import { isInCapitals, plainRow } from '../warehouse-row.ts';
import { contextPaths } from './map.ts';

/** Tables that Segment and RudderStack fill in a warehouse; `auto` detects them by their columns. */
export const warehouseTables = ['auto', 'tracks', 'pages', 'screens', 'identifies', 'groups', 'aliases', 'users'];

/** The message represented by a warehouse row, or why it cannot be derived. */
type MessageOfRow = { readonly kind: 'message'; readonly message: Json } | NoEvents;

/** Whether a record is a warehouse row; messages have other member names. */
export function isWarehouseRow(record: Json): boolean {
  if (record['messageId'] !== undefined || record['userId'] !== undefined) return false;
  if (record['anonymousId'] !== undefined || isObject(record['context'])) return false;
  return ['received_at', 'anonymous_id', 'original_timestamp', 'RECEIVED_AT', 'ANONYMOUS_ID'].some(
    (column) => record[column] !== undefined,
  );
}

export function messageOfRow(record: Json, table: string): MessageOfRow {
  const row = plainRow(record, isInCapitals(record, 'received_at') ? 'received_at' : 'anonymous_id');
  const kind = table === 'auto' ? tableOf(record, row) : table;
  if (kind === undefined) {
    return unreadable(
      'expected a row of tracks, pages, groups or aliases, which are detected by their columns; for identifies, screens or users ' +
        'set the format option table',
    );
  }
  const message: Properties = { ...leading(row, kind), context: {}, properties: {}, traits: {} };
  for (const column of Object.keys(row)) if (!readApart.has(column)) addColumn(message, kind, column, row[column]);
  return { kind: 'message', message };
}

/** Detects the table by columns that no other table has, even if empty, as in a CSV. */
function tableOf(record: Json, row: Json): string | undefined {
  if (row['event'] !== undefined) return 'tracks';
  if (row['previous_id'] !== undefined) return 'aliases';
  if (row['group_id'] !== undefined) return 'groups';
  const has = (column: string): boolean => column in record || column.toUpperCase() in record;
  return has('path') && has('url') ? 'pages' : undefined;
}

const types: Readonly<Record<string, string>> = {
  aliases: 'alias',
  groups: 'group',
  identifies: 'identify',
  pages: 'page',
  screens: 'screen',
  tracks: 'track',
  users: 'identify',
};

/** Returns the leading members. A row of `users` has the user id as its id, so its messageId is derived from its content. */
function leading(row: Json, table: string): Properties {
  const { id, event, event_text: text, name, category } = row;
  const isUser = table === 'users';
  return {
    type: types[table],
    ...(isUser ? {} : { messageId: id }),
    userId: isUser ? id : row['user_id'],
    anonymousId: row['anonymous_id'],
    groupId: row['group_id'],
    previousId: row['previous_id'],
    timestamp: anyTime(row['timestamp'] ?? row['_timestamp']),
    originalTimestamp: anyTime(row['original_timestamp']),
    sentAt: anyTime(row['sent_at']),
    receivedAt: anyTime(row['received_at']),
    ...(table === 'tracks' ? { event: text ?? event } : {}),
    ...(table === 'pages' || table === 'screens' ? { name, category } : {}),
  };
}

const readApart: ReadonlySet<string> = new Set(
  `_timestamp anonymous_id channel event event_text group_id id loaded_at original_timestamp previous_id received_at
  sent_at timestamp user_id uuid_ts`.split(/\s+/),
);

/** `context_page_url` → `page.url`, if messages have it; `context_user_agent` → `userAgent`. */
const contextOfColumn: ReadonlyMap<string, readonly string[]> = new Map(
  [...Object.values(contextPaths), 'context.ip'].map((path) => [
    path.replaceAll('.', '_').replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    path.split('.').slice(1),
  ]),
);
const traitPrefix = 'context_traits_';

/** Adds a column to the context if it belongs there, or else to the event's properties or traits. */
function addColumn(message: Properties, table: string, column: string, value: unknown): void {
  const isNamed = table === 'pages' || table === 'screens';
  if (isNamed && (column === 'name' || column === 'category')) return;
  const path = contextOfColumn.get(column);
  const context = message['context'] as Properties;
  if (path !== undefined) return putAt(context, path, value);
  if (column === 'context_request_ip') return void (message['request_ip'] = value);
  if (column.startsWith(traitPrefix)) return putAt(context, ['traits', column.slice(traitPrefix.length)], value);
  const isOfPerson = table === 'identifies' || table === 'users' || table === 'groups';
  const isContext = column.startsWith('context_');
  if (isOfPerson && isContext) return;
  setMember((isOfPerson ? message['traits'] : message['properties']) as Properties, column, value);
}

function putAt(target: Properties, path: readonly string[], value: unknown): void {
  const [first = '', ...rest] = path;
  if (rest.length === 0) return setMember(target, first, value);
  if (!Object.hasOwn(target, first)) setMember(target, first, {});
  putAt(target[first] as Properties, rest, value);
}
