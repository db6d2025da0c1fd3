import { isObject } from '../../../base/json.ts';
import { objectOf, type Json } from '../read-values.ts';

/** What of a record is a message or a row. */
export type Content =
  | { readonly kind: 'messages'; readonly messages: readonly Json[] }
  /** `table`: as the loader calls it; undefined: its columns tell. */
  | { readonly kind: 'row'; readonly row: Json; readonly table: string | undefined };

/**
 * RudderStack's own files wrap what was sent: archived jobs have one message in `EventPayload`, those of the gateway a
 * `{batch: […]}` in `event_payload`; transformations get `{message, metadata, destination}`; a line of a staging file is
 * `{data: row, metadata: {table}}`. Undefined: none of these, or a job without messages.
 */
export function unwrapped(record: Json): Content | undefined {
  if (record['type'] !== undefined || record['messageId'] !== undefined) return undefined;
  const { data } = record;
  const { table } = objectOf(record['metadata']);
  if (isObject(data) && typeof table === 'string') return { kind: 'row', row: data, table };
  const payload = [record['event_payload'], record['EventPayload'], record['message']].find(isObject);
  if (payload === undefined) return undefined;
  const { batch } = payload;
  const messages = Array.isArray(batch) ? batch.filter(isObject) : [payload];
  return messages.length === 0 ? undefined : { kind: 'messages', messages };
}
