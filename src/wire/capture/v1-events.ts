import { canonicalUuid } from '../../base/uuids.ts';
import { isPlaceholderId } from '../../base/placeholder-ids.ts';
import { scanProblems, span, spanStride, type ScannedBatch } from '../batch/scanned-batch.ts';
import { fieldFrom, fieldTo, isNullAt, isObjectAt, isStringAt, stringAt } from '../batch/spans.ts';
import { parseTimestamp } from '../batch/timestamps.ts';
import { rfc3339, type SdkInfo, type V1Headers } from './v1-headers.ts';
import { V1Error } from './v1-error.ts';

/** A v1 event converted to the form of the log and the pipeline. */
export interface ConvertedEvent {
  /** As the client wrote it; the key of its result. */
  readonly uuid: string;
  /** The canonical spelling. */
  readonly stored: string;
  /** Why the event is dropped, or `undefined` if it is accepted. */
  readonly drop: string | undefined;
  /** A remark for the client about an accepted event. */
  readonly details: string | undefined;
  /** The element for the log. For a dropped event it is its reason and the original, which can only become a dead letter. */
  readonly json: Buffer;
}

const textBytesMax = 200;
/** In addition to placeholder ids, v1 creates no person for ids that name a role. */
const roleIds: ReadonlySet<string> = new Set(['backend', 'system', 'user']);
/** Converts the events of a v1 batch, in order. Throws V1Error if a uuid is missing, invalid or duplicate. */
export function convertV1Events(scan: ScannedBatch, sdk: SdkInfo): ConvertedEvent[] {
  const seen = new Set<string>();
  const events: ConvertedEvent[] = [];
  for (let i = 0; i < scan.count; i++) {
    const event = convert(scan, i, sdk);
    if (seen.has(event.stored))
      throw new V1Error('duplicate_event_uuid', `expected each uuid once, got twice: ${event.uuid}`);
    seen.add(event.stored);
    events.push(event);
  }
  return events;
}

function convert(scan: ScannedBatch, index: number, sdk: SdkInfo): ConvertedEvent {
  const original = scan.json.subarray(fieldFrom(scan, index, 'event'), fieldTo(scan, index, 'event'));
  const { sent, stored } = uuidOf(scan, index);
  const refuse = (reason: string): ConvertedEvent => ({
    uuid: sent,
    stored,
    drop: reason,
    details: undefined,
    json: Buffer.concat([Buffer.from(`["${reason}",`), original, Buffer.from(']')]),
  });
  const problem = scanProblems[(scan.spans[index * spanStride + span.problem] ?? 0) - 1];
  if (problem !== undefined) return refuse(problem === 'event_too_large' ? 'event_too_big' : problem);
  const event = JSON.parse(original.toString()) as Readonly<Record<string, unknown>>;
  if (event['event'] === performanceEvent)
    return { ...refuse('performance_event_dropped'), json: minimalPerformanceEvent(event, stored) };
  const reason = faultOf(event);
  if (reason !== undefined) return refuse(reason);
  const added = addedProperties(event);
  if (added === undefined) return refuse('invalid_options');
  addLibrary(added, event['properties'], sdk);
  const distinctId = String(event['distinct_id']).trim();
  const isIllegal = isPlaceholderId(distinctId) || roleIds.has(distinctId.toLowerCase());
  if (isIllegal) added['$process_person_profile'] = false;
  const head = { event: event['event'], distinct_id: distinctId, uuid: stored, timestamp: event['timestamp'] };
  return {
    uuid: sent,
    stored,
    drop: undefined,
    details: isIllegal ? 'person_processing_disabled' : undefined,
    json: Buffer.concat([
      Buffer.from(`${JSON.stringify(head).slice(0, -1)},"properties":`),
      withProperties(scan, index, added),
      Buffer.from('}'),
    ]),
  };
}

const performanceEvent = '$performance_event';

/** Reduces a performance event to what the pipeline drops and counts. A dead letter would wrongly report a fault. */
function minimalPerformanceEvent({ distinct_id: id }: Readonly<Record<string, unknown>>, uuid: string): Buffer {
  const isId = typeof id === 'string' && id.trim() !== '' && Buffer.byteLength(id) <= textBytesMax;
  return Buffer.from(JSON.stringify({ event: performanceEvent, distinct_id: isId ? id : uuid, uuid }));
}

function uuidOf(scan: ScannedBatch, index: number): { readonly sent: string; readonly stored: string } {
  const from = fieldFrom(scan, index, 'uuid');
  const to = fieldTo(scan, index, 'uuid');
  if (from < 0 || isNullAt(scan.json, from) || to - from === 2) {
    throw new V1Error('missing_event_uuid', `expected batch[${index}].uuid to be a UUID, got: none`);
  }
  const sent = isStringAt(scan.json, from) ? stringAt(scan.json, from, to) : '';
  const stored = canonicalUuid(sent);
  if (stored !== undefined) return { sent: sent.trim(), stored };
  throw new V1Error('invalid_event_uuid', `expected batch[${index}].uuid to be a UUID, got: something else`);
}

function faultOf(event: Readonly<Record<string, unknown>>): string | undefined {
  const { event: name, distinct_id: id, timestamp, properties } = event;
  if (typeof name !== 'string' || name === '') return 'missing_event_name';
  if (Buffer.byteLength(name) > textBytesMax) return 'event_name_too_long';
  if (typeof id !== 'string' || id.trim() === '') return 'missing_distinct_id';
  if (Buffer.byteLength(id.trim()) > textBytesMax) return 'distinct_id_too_large';
  if (typeof timestamp !== 'string' || !rfc3339.test(timestamp) || parseTimestamp(timestamp) === undefined) {
    return 'invalid_event_timestamp';
  }
  return properties === undefined || isMap(properties) ? undefined : 'malformed_event_properties';
}

/** Checks for a map. Null and PHP's `[]` are empty maps. */
function isMap(value: unknown): boolean {
  return typeof value === 'object' && (!Array.isArray(value) || value.length === 0);
}

/** Converts options and context ids to their properties. Returns `undefined` if an option is invalid. */
function addedProperties(event: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined {
  const added: Record<string, unknown> = {};
  if (typeof event['session_id'] === 'string') added['$session_id'] = event['session_id'];
  if (typeof event['window_id'] === 'string') added['$window_id'] = event['window_id'];
  const options = event['options'] ?? {};
  if (!isMap(options)) return undefined;
  for (const [option, property] of Object.entries(flagOptions)) {
    const value = (options as Record<string, unknown>)[option];
    if (value === undefined || value === null) continue;
    const flag = asFlag(value);
    if (flag === undefined) return undefined;
    added[property] = flag;
  }
  const tour = (options as Record<string, unknown>)['product_tour_id'];
  if (tour !== undefined && tour !== null) {
    if (typeof tour !== 'string' && !Number.isInteger(tour)) return undefined;
    added['$product_tour_id'] = tour;
  }
  return added;
}

/** Adds the library named by the header. A forwarded event of another library keeps its own. */
function addLibrary(added: Record<string, unknown>, properties: unknown, sdk: SdkInfo): void {
  const { $lib, $lib_version } = (properties ?? {}) as Readonly<Record<string, unknown>>;
  if ($lib === undefined) added['$lib'] = sdk.name;
  if ($lib_version === undefined && ($lib === undefined || $lib === sdk.name)) added['$lib_version'] = sdk.version;
}

const flagOptions = {
  cookieless_mode: '$cookieless_mode',
  disable_skew_correction: '$ignore_sent_at',
  process_person_profile: '$process_person_profile',
} as const;

function asFlag(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return value !== 0;
  if (value === 'true' || value === '1') return true;
  if (value === 'false' || value === '0') return false;
  return undefined;
}

/** Returns the properties byte for byte as sent. The added ones follow, where they take precedence. */
function withProperties(scan: ScannedBatch, index: number, added: Readonly<Record<string, unknown>>): Buffer {
  const from = fieldFrom(scan, index, 'properties');
  const own =
    from >= 0 && isObjectAt(scan.json, from)
      ? scan.json.subarray(from, fieldTo(scan, index, 'properties'))
      : emptyObject;
  const more = JSON.stringify(added).slice(1);
  if (more === '}') return own;
  const isEmpty = own.subarray(1, -1).toString().trim() === '';
  return Buffer.concat([own.subarray(0, -1), Buffer.from(isEmpty ? more : `,${more}`)]);
}

const emptyObject = Buffer.from('{}');

/** Builds the batch in the form that the log keeps. */
export function v0Batch(headers: V1Headers, events: readonly ConvertedEvent[], historical: boolean): Buffer {
  const root = { sent_at: new Date(headers.sentAt).toISOString(), historical_migration: historical };
  const parts: Buffer[] = [Buffer.from(`${JSON.stringify(root).slice(0, -1)},"batch":[`)];
  for (const [i, { json }] of events.entries()) {
    if (i > 0) parts.push(Buffer.from(','));
    parts.push(json);
  }
  parts.push(Buffer.from(']}'));
  return Buffer.concat(parts);
}
