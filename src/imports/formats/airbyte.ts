import { isObject } from '../../base/json.ts';
import { objectOfJson, type Json } from './read-values.ts';

/**
 * A record in the envelope of Airbyte: `{_airbyte_data, _airbyte_extracted_at, …}` as its destinations write it, also as JSON text, or
 * `{stream, data, emitted_at}` as its sources do. Undefined: it is none.
 * https://docs.airbyte.com/platform/understanding-airbyte/airbyte-protocol
 */
export function airbyteRecord(record: Json): Json | undefined {
  const { _airbyte_data: own, type, record: message, stream, data, emitted_at: emittedAt } = record;
  if (own !== undefined) return objectOfJson(own);
  if (type === 'RECORD' && isObject(message)) return airbyteRecord(message);
  return typeof stream === 'string' && emittedAt !== undefined ? objectOfJson(data) : undefined;
}

const messages: ReadonlySet<unknown> = new Set(['CATALOG', 'CONTROL', 'LOG', 'SPEC', 'STATE', 'TRACE']);

/** What a source of Airbyte writes between its records. */
export function isAirbyteMessage({ type, ...rest }: Json): boolean {
  return messages.has(type) && isObject(rest[String(type).toLowerCase()]);
}
