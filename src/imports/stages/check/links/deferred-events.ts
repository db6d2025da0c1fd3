import type { JsonObject } from '../../../../base/json.ts';
import { parseExactValues } from '../../../../base/exact-json.ts';
import { contentWords, identityWords, withoutRunMark } from '../../../checksum.ts';
import { dayOfMicros } from '../segment/event-times.ts';
import { hashIdentity, hashText, type Words } from '../rows/event-keys.ts';
import type { RepeatedLinks } from './repeated-links.ts';
import { packedLinkName, sumsPerLink, type PackedLinks } from '../rows/segment-links.ts';
import type { SegmentRows } from '../rows/segment-rows.ts';
import { isElsewhere, type StoredEvents } from './stored-events.ts';

/** An event that is stored or not depending on other segments or the target; structured clone. */
export interface DeferredEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinctId: string;
  /** µs since the epoch. */
  readonly micros: number;
  /** Its `received_at`, µs since the epoch. */
  readonly place: number;
  /** Text of its properties with the mark of the run. */
  readonly text: string;
  /** Set for a link (repeated-links.ts). */
  link: { readonly line: number; ofLine: number } | undefined;
}

/** Deferred events of a segment. */
export interface Deferred {
  readonly events: readonly DeferredEvent[];
  readonly links: PackedLinks;
}

const name = { low: 0, high: 0 };
const id = { low: 0, high: 0 };
const key = { low: 0, high: 0 };

/** Returns the key of the event's identity. The result is the same object at every call. */
export function keyOf({ uuid, event, distinctId }: DeferredEvent): Readonly<Words> {
  hashText(event, name);
  hashText(distinctId, id);
  hashIdentity(uuid, name, id, key);
  return key;
}

const linkName = Buffer.from(packedLinkName);

interface DeferredSettled {
  /** Names of the events, by the index in rows. */
  readonly names: readonly string[];
  /** Events that the target has on another day, by the day that they would have here. */
  readonly elsewhere: ReadonlyMap<string, number>;
  /** Writes rows of events that stay. Call it for segments in the order of the source. */
  add(segment: number, deferred: Deferred, rows: SegmentRows): void;
}

export function createDeferredSettled(runId: string, links: RepeatedLinks, stored: StoredEvents): DeferredSettled {
  const names: string[] = [];
  const elsewhere = new Map<string, number>();
  const sum = new Uint32Array(2);
  return {
    names,
    elsewhere,
    add: (segment, { events, links: packed }, rows) => {
      for (const event of events) {
        const own = keyOf(event);
        if (event.link !== undefined && !links.stays(segment, own, event.micros)) continue;
        const day = dayOfMicros(event.micros);
        if (isElsewhere(stored, event.event, day, own)) elsewhere.set(day, (elsewhere.get(day) ?? 0) + 1);
        else rows.add({ ...event, properties: parseExactValues(event.text) as JsonObject }, sumsOf(event));
      }
      addPacked(segment, packed, rows);
    },
  };

  function addPacked(
    segment: number,
    { count, keys, micros: times, places, uuids, sums, texts, ends }: PackedLinks,
    rows: SegmentRows,
  ): void {
    const key = { low: 0, high: 0 };
    for (let index = 0; index < count; index += 1) {
      key.low = keys[index * 2] as number;
      key.high = keys[index * 2 + 1] as number;
      const micros = times[index] as number;
      if (!links.stays(segment, key, micros)) continue;
      const day = dayOfMicros(micros);
      if (isElsewhere(stored, packedLinkName, day, key)) {
        elsewhere.set(day, (elsewhere.get(day) ?? 0) + 1);
        continue;
      }
      const [from, between, to] = [index === 0 ? 0 : ends[index * 2 - 1], ends[index * 2], ends[index * 2 + 1]];
      const first = index * sumsPerLink;
      rows.addPacked(
        {
          uuid: uuids.subarray(index * 16, (index + 1) * 16),
          event: linkName,
          distinctId: texts.subarray(from, between),
          properties: [texts.subarray(between, to)],
        },
        {
          micros,
          place: places[index] as number,
          name: indexOf(packedLinkName),
          sumLow: sums[first] as number,
          sumHigh: sums[first + 1] as number,
          contentLow: sums[first + 2] as number,
          contentHigh: sums[first + 3] as number,
        },
      );
    }
  }

  function sumsOf({ uuid, event, distinctId, micros, place, text }: DeferredEvent) {
    identityWords(uuid, distinctId, micros, sum);
    const [sumLow, sumHigh] = [sum[0] as number, sum[1] as number];
    contentWords(withoutRunMark(text, runId), sumLow, sumHigh, sum);
    const content = { contentLow: sum[0] as number, contentHigh: sum[1] as number };
    return { micros, place, name: indexOf(event), sumLow, sumHigh, ...content };
  }

  function indexOf(event: string): number {
    const known = names.indexOf(event);
    return known < 0 ? names.push(event) - 1 : known;
  }
}
