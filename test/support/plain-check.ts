import { zstdDecompressSync } from 'node:zlib';
import type { Format, FormatOptions, NameTable } from '../../src/imports/formats/format.ts';
import { checkSegment, type SegmentCheckDeps } from '../../src/imports/stages/check/check-segment.ts';
import { findUnmapped } from '../../src/imports/stages/check/find-unmapped.ts';
import type { Findings } from '../../src/imports/stages/check/findings.ts';
import { openPlainMachine } from '../../src/imports/stages/check/plain/machine.ts';
import { createPlainConverter } from '../../src/imports/stages/check/plain/plain-converter.ts';
import { createSharedDevices, type SharedDevices } from '../../src/imports/stages/check/shared-devices.ts';
import type { EventSums, SegmentRows } from '../../src/imports/stages/check/segment-rows.ts';

/** Everything that a check leaves behind of some segments. */
export interface SegmentsChecked {
  /** In the order of the source, each with its numbers and its texts. */
  readonly events: readonly (readonly unknown[])[];
  readonly names: readonly (readonly string[])[];
  readonly findings: readonly Findings[];
  readonly devices: Pick<SharedDevices, 'shared' | 'isIncomplete'>;
  readonly rejected: readonly string[];
}

export interface BothWays {
  readonly plain: SegmentsChecked;
  readonly objects: SegmentsChecked;
  /** Records that were converted without objects. */
  readonly taken: number;
}

export interface BothWaysOptions {
  readonly formatOptions?: FormatOptions;
  readonly names?: NameTable;
  /** Of one event. */
  readonly eventBytesMax?: number;
}

/** `now` of every check here. */
export const checkedAt: number = Date.parse('2026-11-20T10:00:00.000Z');

/** Checks segments twice, with new readers: by the table of the format where it covers a record, and all of them as objects. */
export async function checkBothWays(
  format: Format,
  segments: readonly Buffer[],
  options: BothWaysOptions = {},
): Promise<BothWays> {
  let taken = 0;
  const plain = await checkSegments(format, segments, options, (deps) => {
    const converter = createPlainConverter({ ...deps, machine: openPlainMachine() });
    if (converter === undefined) return undefined;
    return {
      hasLinks: () => converter.hasLinks(),
      links: () => converter.links(),
      leftOut: () => converter.leftOut(),
      put: (...given) => converter.put(...given),
      read: (...given) => {
        const isPlain = converter.read(...given);
        if (isPlain) taken += 1;
        return isPlain;
      },
    };
  });
  const objects = await checkSegments(format, segments, options, () => undefined);
  return { plain, objects, taken };
}

type Deps = Omit<SegmentCheckDeps, 'plain'>;

async function checkSegments(
  format: Format,
  segments: readonly Buffer[],
  { formatOptions = {}, names = format.names, eventBytesMax = 1_000_000 }: BothWaysOptions,
  converterOf: (deps: Deps) => SegmentCheckDeps['plain'],
): Promise<SegmentsChecked> {
  const devices = createSharedDevices();
  const rows = createRowList();
  const own: Deps = {
    runId: 'r',
    read: format.createReader(formatOptions, names),
    slug: format.slug,
    links: undefined,
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
  };
  const deps: SegmentCheckDeps = { ...own, plain: converterOf(own) };
  const events: (readonly unknown[])[] = [];
  const allNames: (readonly string[])[] = [];
  const findings: Findings[] = [];
  const rejected: string[] = [];
  for (const lines of segments) {
    const segment = await checkSegment(deps, { part: 'p', linesBefore: 0, firstPlace: 0 }, lines);
    events.push(...rows.takeAll(), ...segment.deferred.map((event) => Object.entries(event)));
    allNames.push([...segment.tally.names]);
    findings.push(segment.tally.findings());
    rejected.push(...segment.rejected.finish().map((file) => zstdDecompressSync(file).toString()));
  }
  const { shared, isIncomplete } = devices;
  return { events, names: allNames, findings, devices: { shared, isIncomplete }, rejected };
}

/** Keeps what rows are made of instead of making them. */
function createRowList(): SegmentRows & { takeAll(): (readonly unknown[])[] } {
  const list: (readonly unknown[])[] = [];
  const arena = Buffer.alloc(8 << 20);
  const numbersOf = (sums: EventSums): readonly unknown[] => Object.entries(sums).map(([, value]) => value);
  return {
    arena,
    get count() {
      return list.length;
    },
    add: ({ uuid, event, distinctId, text }, sums) => list.push([uuid, event, distinctId, text, ...numbersOf(sums)]),
    place: () => 0,
    keep: (sums, end) => {
      const json = arena.toString('utf8', 0, end);
      const { uuid, event, distinct_id: id } = JSON.parse(json) as Readonly<Record<string, unknown>>;
      const text = json.slice(json.indexOf(',"properties":{') + ',"properties":'.length, -1);
      list.push([uuid, event, id, text, ...numbersOf(sums)]);
    },
    take: () => ({ rows: { chunks: [], rows: 0 }, facts: undefined, sums: [] }),
    takeAll: () => list.splice(0),
  };
}
