import { zstdDecompressSync } from 'node:zlib';
import { expect } from 'vitest';
import type { Format, FormatOptions, NameTable } from '../../src/imports/formats/format.ts';
import { checkSegment, type SegmentCheckDeps } from '../../src/imports/stages/check/segment/check-segment.ts';
import { findUnmapped } from '../../src/imports/stages/check/segment/find-unmapped.ts';
import type { Findings } from '../../src/imports/stages/check/tally/findings.ts';
import { openConvertModule } from '../../src/imports/stages/check/fast/convert-module.ts';
import { createFastConverter } from '../../src/imports/stages/check/fast/fast-converter.ts';
import { createSharedDevices, type SharedDevices } from '../../src/imports/stages/check/tally/shared-devices.ts';
import {
  createSegmentRows,
  type EventSums,
  type SegmentRows,
} from '../../src/imports/stages/check/rows/segment-rows.ts';
import { createDeferredSettled, type Deferred } from '../../src/imports/stages/check/links/deferred-events.ts';
import { packedLinkName, type PackedLinks } from '../../src/imports/stages/check/rows/segment-links.ts';
import { noStoredEvents } from '../../src/imports/stages/check/links/stored-events.ts';
import { rowWords as word, wordsPerRow } from '../../src/imports/stages/check/rows/converted-rows.ts';
import { decodeRows } from './event-store-double.ts';
import { createSegmentMemory } from '../../src/imports/stages/check/threads/segment-memory.ts';

/** The complete result of checking some segments. */
export interface SegmentsChecked {
  /** Rows in the order of the source, each with its numbers and texts. */
  readonly events: readonly (readonly unknown[])[];
  readonly names: readonly (readonly string[])[];
  readonly findings: readonly Findings[];
  readonly devices: Pick<SharedDevices, 'shared' | 'isIncomplete'>;
  readonly rejected: readonly string[];
}

interface BothResults {
  readonly fast: SegmentsChecked;
  readonly reader: SegmentsChecked;
  /** Records that the converter handled. */
  readonly converted: number;
}

export interface CheckOptions {
  readonly formatOptions?: FormatOptions;
  readonly names?: NameTable;
  /** Maximum of one event. */
  readonly eventBytesMax?: number;
}

/** The current time of these checks. */
export const checkedAt: number = Date.parse('2026-11-20T10:00:00.000Z');

/** Checks segments twice, with new readers: usual records by the converter, and all records by the reader. */
export async function checkWithBoth(
  format: Format,
  segments: readonly Buffer[],
  options: CheckOptions = {},
): Promise<BothResults> {
  let converted = 0;
  const fast = await checkSegments(format, segments, options, (deps) => {
    const converter = createFastConverter({ ...deps, module: openConvertModule() });
    if (converter === undefined) return undefined;
    return {
      convert: (lines, place, sink) => {
        const next = converter.convert(lines, place, sink);
        converted += next.line - place.line;
        return next;
      },
    };
  });
  const reader = await checkSegments(format, segments, options, () => undefined);
  return { fast, reader, converted };
}

type Deps = Omit<SegmentCheckDeps, 'fast'>;

async function checkSegments(
  format: Format,
  segments: readonly Buffer[],
  { formatOptions = {}, names = format.names, eventBytesMax = 1_000_000 }: CheckOptions,
  converterOf: (deps: Deps) => SegmentCheckDeps['fast'],
): Promise<SegmentsChecked> {
  const devices = createSharedDevices();
  const rows = createRowList();
  const memory = createSegmentMemory();
  const own: Deps = {
    runId: 'r',
    read: format.createReader(formatOptions, names, memory),
    slug: format.slug,
    links: memory.links,
    memory,
    rows,
    devices,
    times: format.times,
    unmapped: findUnmapped(format.slug, format.names, names),
    sampled: new Set(),
    eventBytesMax,
    now: () => checkedAt,
    signal: new AbortController().signal,
    held: new Map(),
    transform: undefined,
    plan: undefined,
    keptOut: undefined,
  };
  const deps: SegmentCheckDeps = { ...own, fast: converterOf(own) };
  const events: (readonly unknown[])[] = [];
  const allNames: (readonly string[])[] = [];
  const findings: Findings[] = [];
  const rejected: string[] = [];
  for (const lines of segments) {
    const segment = await checkSegment(deps, { part: 'p', linesBefore: 0, firstPlace: 0 }, lines);
    events.push(...rows.takeAll(), ...deferredOf(segment.deferred));
    allNames.push([...segment.tally.names]);
    findings.push(segment.tally.findings());
    rejected.push(...segment.rejected.finish().map((file) => zstdDecompressSync(file).toString()));
  }
  const { shared, isIncomplete } = devices;
  return { events, names: allNames, findings, devices: { shared, isIncomplete }, rejected };
}

/** Returns the earliest of each link and all other deferred events. */
function deferredOf({ events, links }: Deferred): (readonly unknown[])[] {
  const all = [...events.map((event) => ({ ...event, isLink: event.link !== undefined })), ...unpack(links)];
  const earliest = new Map<string, (typeof all)[number]>();
  for (const [index, event] of all.entries()) {
    const key = event.isLink ? event.uuid : String(index);
    const known = earliest.get(key);
    if (known === undefined || event.micros < known.micros) earliest.set(key, event);
  }
  const text = ({ uuid, micros }: { readonly uuid: string; readonly micros: number }): string => `${micros} ${uuid}`;
  return [...earliest.values()]
    .toSorted((a, b) => (text(a) < text(b) ? -1 : 1))
    .map(({ uuid, event, distinctId, micros, place, text: properties, isLink }) => {
      return [uuid, event, distinctId, micros, place, properties, isLink];
    });
}

function unpack(links: PackedLinks) {
  const segment = createSegmentRows({ projectId: 1, runId: 'r', wantsFacts: false });
  const everyLink = { stays: () => true, add: () => undefined, addTo: () => undefined };
  createDeferredSettled('r', everyLink, noStoredEvents).add(0, { events: [], links }, segment);
  return decodeRows(segment.take([packedLinkName]).rows).map(
    ({ uuid, event, distinctId, micros, receivedAtMicros: place, properties: text }) => {
      return { uuid, event, distinctId, micros, place, text, isLink: true };
    },
  );
}

/** Collects rows together with their sums. */
function createRowList(): SegmentRows & { takeAll(): (readonly unknown[])[] } {
  const sums: EventSums[] = [];
  const segment = createSegmentRows({ projectId: 1, runId: 'r', wantsFacts: true });
  return {
    get count() {
      return segment.count;
    },
    addPacked: (row, own) => segment.addPacked(row, own),
    add: (event, own) => {
      sums.push({ ...own });
      segment.add(event, own);
    },
    addConverted: (rows) => {
      const { words, micros, places, names } = rows;
      for (let row = 0; row < rows.columns.rows; row += 1) {
        const of = (index: number): number => words[row * wordsPerRow + index] ?? 0;
        const [sumLow, sumHigh] = [of(word.sumLow), of(word.sumHigh)];
        const [contentLow, contentHigh] = [of(word.contentLow), of(word.contentHigh)];
        const numbers = { micros: micros[row] ?? 0, place: places[row] ?? 0, name: names[row] ?? 0 };
        sums.push({ ...numbers, sumLow, sumHigh, contentLow, contentHigh });
      }
      segment.addConverted(rows);
    },
    take: (names) => segment.take(names),
    takeAll: () => {
      const { rows } = segment.take([]);
      const taken = sums.splice(0);
      return decodeRows(rows).map((row, index) => {
        const { micros, place, name, ...own } = taken[index] as EventSums;
        expect({ micros: row.micros, place: row.receivedAtMicros }).toEqual({ micros, place });
        return [row.uuid, row.event, row.distinctId, row.properties, micros, place, name, own];
      });
    },
  };
}
