/**
 * The only way out of the isolate. Arguments and results are JSON values; Uint8Arrays pass unchanged. A failing op throws (or
 * rejects with) an Error with the name and message of the cause.
 *
 * Answered by the plugin process, see ../../ops: `url.*`, `crypto.*`, `jwt.*`, `zlib.*`, `geoip`, `module` (sync);
 * `fetch`, `pg.*`.
 *
 * Answered by the service:
 * - storage.get [key] → { value } or null · storage.getMany [keys] → [key, value][] · storage.set [key, value] ·
 *   storage.delete [key] · storage.increment [key, by] → number
 * - cache.get [key] → text or null · cache.set [key, text, ttlSeconds or null] · cache.delete [key] · cache.increment [key] ·
 *   cache.expire [key, ttlSeconds] → boolean · cache.listPush [key, texts] · cache.listRange [key, start, end] ·
 *   cache.listLength [key] · cache.listRemove [key, count, text] · cache.listPop [key, count]
 * - capture [{ event, distinctId, timestamp, properties }]: cause and hops are determined and checked outside
 * - job [{ name, payload, runAt }] · api [{ method, path, headers, body }] → OutboundResponse
 *
 * Sync, without a result: log [level, message] · metric [name, kind, value].
 */
export interface Bridge {
  callSync(op: string, args: readonly unknown[]): unknown;
  call(op: string, args: readonly unknown[]): Promise<unknown>;
  /** The name in plugin.json: the default distinct_id of captured events. */
  readonly pluginName: string;
  /** `GeoIP (4)`. */
  readonly label: string;
  /** ms since the epoch, regardless of the plugin's changes to Date. */
  now(): number;
}

export interface GivenAttachment {
  readonly content_type: string;
  readonly file_name: string;
  readonly contents_base64: string;
}

export type MetricKind = 'sum' | 'min' | 'max';

export interface GivenMeta {
  /** Shared by all calls, which may change it. */
  readonly config: Record<string, unknown>;
  readonly attachments: Readonly<Record<string, GivenAttachment>>;
  /** The metrics that the plugin declares. */
  readonly metrics: Readonly<Record<string, MetricKind>>;
}
