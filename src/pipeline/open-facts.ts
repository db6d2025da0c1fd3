import { mayHoldExact, parseExact } from '../base/exact-json.ts';
import type { JsonObject } from '../base/json.ts';
import { arrayOfLines } from '../base/json-lines.ts';
import { freeMemory } from '../base/free-memory.ts';
import { inflateLines } from '../wire/batch/inflate-body.ts';
import type { ScannedBatch } from '../wire/batch/scanned-batch.ts';
import { parseTimestamp } from '../wire/batch/timestamps.ts';
import type { IntactRecord, Lane } from '../log/eventlog.ts';
import type { EventDraft, RecordContext } from './event-draft.ts';
import { contextOf, scanRecord, state, type BodyLimits, type OpenOptions, type OpenRecord } from './open-record.ts';
import { createSplicer } from './splicer.ts';

/** As imports/stages/load/deliver-facts.ts sends it. */
interface Fact {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly properties: JsonObject;
}

/** Whether `openFacts` takes the record. */
export function isOfFacts({ header }: IntactRecord): boolean {
  return header.rowsStored === 'persons' && header.encoding === 'zstd-ndjson';
}

/**
 * As `openRecord`, of facts of persons. They were events once that were read and checked, and nobody wants rows of them: so they are
 * drafts at once, and their bytes are scanned only where one becomes a dead letter.
 */
export function openFacts(
  lane: Lane,
  record: IntactRecord,
  limits: BodyLimits,
  { selection }: OpenOptions = {},
): OpenRecord {
  const context = contextOf(lane, record);
  const lines = inflateLines(record.body);
  const bytes = lines.length;
  const drafts = factsIn(lines).map((fact, index) => draftOf(context, fact, index));
  freeMemory(lines);
  let scan: ScannedBatch | undefined;
  const scanned = (): ScannedBatch => (scan ??= scanRecord(record, limits));
  return {
    context,
    get scan() {
      return scanned();
    },
    bytes,
    free: () => {},
    selection,
    states: new Uint8Array(drafts.length).fill(state.draft),
    get splicer() {
      return createSplicer(context, scanned());
    },
    drafts,
  };
}

/** With every digit of their numbers. */
function factsIn(lines: Buffer): readonly Fact[] {
  const array = arrayOfLines(lines);
  const text = array.toString('utf8');
  freeMemory(array);
  const facts = mayHoldExact(text) ? lines.toString('utf8').split('\n').map(parseExact) : (JSON.parse(text) as unknown);
  // Sound: the load wrote them.
  return facts as readonly Fact[];
}

function draftOf(context: RecordContext, fact: Fact, index: number): EventDraft {
  const { uuid, event, distinct_id: distinctId, timestamp, properties } = fact;
  const micros = microsOf(timestamp);
  return {
    kind: 'draft',
    index,
    projectId: context.projectId,
    uuid,
    event,
    distinctId,
    micros,
    keyMicros: micros,
    properties,
    propertiesText: null,
    warnings: [],
    inChain: null,
    person: null,
    groups: null,
  };
}

const isoLength = '2024-03-01T10:00:00.123456Z'.length;

function microsOf(timestamp: string): number {
  if (timestamp.length !== isoLength) return parseTimestamp(timestamp) ?? 0;
  const two = (at: number): number => (timestamp.charCodeAt(at) - 48) * 10 + timestamp.charCodeAt(at + 1) - 48;
  const ms = Date.UTC(two(0) * 100 + two(2), two(5) - 1, two(8), two(11), two(14), two(17));
  return ms * 1000 + two(20) * 10_000 + two(22) * 100 + two(24);
}
