import { canonicalJson } from '../../../base/canonical-json.ts';
import type { EventWriter } from '../event-writer.ts';
import { idOf, type Json } from '../read-values.ts';

/** The first part of ids of rows. */
export const idKind = 'event';
export const idColumns: readonly string[] = [
  'stream_id',
  'user_pseudo_id',
  'user_id',
  'event_timestamp',
  'event_name',
  'event_bundle_sequence_id',
];
/** Of the batch in which a row came, and the row's place there; older rows have none. */
export const placeColumns: readonly string[] = ['batch_page_id', 'batch_ordering_id'];
export const placeColumn = 'batch_event_index';

/** Google sends nothing twice under one place in a batch; without a place two equal rows are two events. */
export function idOfRow(writer: EventWriter, row: Json, record: Json): string {
  const idIn = (column: string): string => idOf(row[column]) ?? '';
  const key = [idKind, ...idColumns.map(idIn)];
  const place = idOf(row[placeColumn]);
  if (place !== undefined) return writer.id(...key, ...placeColumns.map(idIn), place);
  // A flattened row has its parameters in columns, as many as there are.
  const parameters = row['event_params'] ?? (row === record ? null : row);
  const content = canonicalJson([parameters, row['items'] ?? null]);
  return writer.countedId(...key, content);
}
