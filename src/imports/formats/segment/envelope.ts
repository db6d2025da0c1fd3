import { isObject } from '../../../base/json.ts';
import { objectOf, type Json } from '../read-values.ts';

/** What of a record is a message or a row. */
export type Content =
  | { readonly kind: 'messages'; readonly messages: readonly Json[] }
  /** `table`: as the loader calls it; undefined: its columns tell. */
  | { readonly kind: 'row'; readonly row: Json; readonly table: string | undefined };

/**
 * What was sent is wrapped by the libraries and in RudderStack's own files: a batch is `{batch: […], receivedAt, requestIP}`, archived
 * jobs have one message in `EventPayload`, those of the gateway a batch in `event_payload`; transformations get `{message, metadata, destination}`; a line of a staging file is
 * `{data: row, metadata: {table}}`. Undefined: none of these, or a job without messages.
 */
export function unwrapped(record: Json): Content | undefined {
  if (record['type'] !== undefined || record['messageId'] !== undefined) return undefined;
  const { data } = record;
  const { table } = objectOf(record['metadata']);
  if (isObject(data) && typeof table === 'string') return { kind: 'row', row: data, table };
  const wrapped = [record['event_payload'], record['EventPayload'], record['message']].find(isObject);
  const payload = wrapped ?? (Array.isArray(record['batch']) ? record : undefined);
  if (payload === undefined) return undefined;
  const { batch } = payload;
  const messages = Array.isArray(batch) ? batch.filter(isObject).map((each) => ofBatch(each, payload)) : [payload];
  return messages.length === 0 ? undefined : { kind: 'messages', messages };
}

/** A batch says once when it was sent and received, and from where. */
function ofBatch(message: Json, { sentAt, receivedAt, requestIP, request_ip: ip = requestIP }: Json): Json {
  const shared = Object.entries({ sentAt, receivedAt, request_ip: ip }).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(shared), ...message };
}
