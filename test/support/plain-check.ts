import { zstdDecompressSync } from 'node:zlib';
import type { Format, FormatOptions, NameTable } from '../../src/imports/formats/format.ts';
import { checkSegment, type SegmentCheckDeps } from '../../src/imports/stages/check/check-segment.ts';
import { findUnmapped } from '../../src/imports/stages/check/find-unmapped.ts';
import type { Findings } from '../../src/imports/stages/check/findings.ts';
import { openPlainMachine } from '../../src/imports/stages/check/plain/machine.ts';
import { createPlainConverter } from '../../src/imports/stages/check/plain/plain-converter.ts';
import { createSharedDevices, type SharedDevices } from '../../src/imports/stages/check/shared-devices.ts';
import { blockBytes, readBlock } from '../../src/imports/stages/check/spill-block.ts';
import { createSpillBuffer, type SpillLimits } from '../../src/imports/stages/check/spill-buffer.ts';

/** Everything that a check leaves behind of some segments. */
export interface SegmentsChecked {
  /** By time, and in the order in which they came, each with its numbers and its JSON: where the buffer was full does not matter. */
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
  readonly limits?: SpillLimits;
}

/** `now` of every check here. */
export const checkedAt: number = Date.parse('2026-11-20T10:00:00.000Z');
const standardLimits: SpillLimits = { bufferBytes: 256 << 10, blockBytes: 64 << 10 };

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
  { formatOptions = {}, names = format.names, eventBytesMax = 1_000_000, limits = standardLimits }: BothWaysOptions,
  converterOf: (deps: Deps) => SegmentCheckDeps['plain'],
): Promise<SegmentsChecked> {
  const devices = createSharedDevices();
  const own: Deps = {
    runId: 'r',
    read: format.createReader(formatOptions, names),
    slug: format.slug,
    links: undefined,
    buffer: createSpillBuffer(limits),
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
    const segment = checkSegment(deps, { part: 'p', linesBefore: 0 });
    const blocks: Buffer[] = [];
    for await (const block of segment.chunks(lines)) blocks.push(block);
    const places = segment.file.runs.flatMap(({ day, blocks: each }) => each.map((place) => ({ day, place })));
    const found = places.flatMap(({ day, place }, index) => eventsOf(day, blocks[index] ?? Buffer.alloc(0), place));
    events.push(...found.toSorted((one, other) => Number(one[1]) - Number(other[1])));
    allNames.push([...segment.tally.names]);
    findings.push(segment.tally.findings());
    rejected.push(...segment.rejected.finish().map((file) => zstdDecompressSync(file).toString()));
  }
  const { shared, isIncomplete } = devices;
  return { events, names: allNames, findings, devices: { shared, isIncomplete }, rejected };
}

function eventsOf(
  day: string,
  bytes: Buffer,
  { events, bytes: jsonBytes }: { readonly events: number; readonly bytes: number },
): (readonly unknown[])[] {
  const block = readBlock(bytes, blockBytes(events, jsonBytes));
  const columns = [block.micros, block.keyLow, block.keyHigh, block.sumLow, block.sumHigh, block.contentLow].concat([
    block.contentHigh,
    block.name,
  ]);
  return Array.from({ length: block.count }, (_, at) => [
    day,
    ...columns.map((column) => column[at]),
    block.json.toString('utf8', block.start[at], block.start[at + 1]),
  ]);
}
