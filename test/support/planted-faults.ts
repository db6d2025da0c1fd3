import { createDraw } from './draw.ts';
import { plans, type Outcome, type Plan, type Row } from './planted-plans.ts';

/**
 * Exports with planted faults, of any length in flat memory: all lines of a seeded generator as they are and, between
 * them, lines that are at fault. An import of it gives the events of the clean records, and for every planted line what
 * is said here.
 */
export const faultKinds = ['notJson', 'missingId', 'badTime', 'oversize', 'duplicate', 'junkId'] as const;
export type FaultKind = (typeof faultKinds)[number];

export interface PlantedFault {
  readonly kind: FaultKind;
  readonly outcome: Outcome;
  /** From 1, in the whole export. */
  readonly line: number;
}

export interface FaultyExport {
  /** NDJSON, in chunks of whole lines. To be read once. */
  readonly chunks: Iterable<Buffer>;
  /** Counts of what has been read so far. */
  readonly planted: {
    readonly lines: number;
    readonly clean: number;
    readonly kinds: Readonly<Record<FaultKind, number>>;
    readonly outcomes: Readonly<Record<Outcome, number>>;
  };
}

export interface FaultyOptions {
  /** Faults per clean record, 0 to 1. */
  readonly rate?: number;
  readonly onPlanted?: (fault: PlantedFault) => void;
}

const chunkBytes = 64 * 1024;
/** More than any event may have. */
const oversizeBytes = 1_200_000;
/** So that an export of a million records does not consist of them; any beyond are broken lines instead. */
const oversizeMax = 20;

/** The export of a format (by slug) with this many clean records. Throws when there is no such format. */
export function faultyExport(slug: string, seed: number, count: number, options: FaultyOptions = {}): FaultyExport {
  const plan = planOf(slug);
  return faulty(plan.records(seed, count), seed, plan, options);
}

/** The same of records that are there. */
export function faultyRecords(slug: string, records: Iterable<unknown>, seed: number, rate: number): FaultyExport {
  return faulty(records, seed, planOf(slug), { rate });
}

function planOf(slug: string): Plan {
  const plan = Object.hasOwn(plans, slug) ? plans[slug] : undefined;
  if (plan === undefined) throw new Error(`expected one of ${Object.keys(plans).join(', ')}, got ${slug}`);
  return plan;
}

export function faulty(
  records: Iterable<unknown>,
  seed: number,
  plan: Plan,
  { rate = 0.01, onPlanted = () => {} }: FaultyOptions = {},
): FaultyExport {
  const kinds: Record<FaultKind, number> = {
    notJson: 0,
    missingId: 0,
    badTime: 0,
    oversize: 0,
    duplicate: 0,
    junkId: 0,
  };
  const outcomes: Record<Outcome, number> = { unreadable: 0, skipped: 0, refused: 0, same: 0, more: 0 };
  const planted = { lines: 0, clean: 0, kinds, outcomes };
  const plant = createPlanter(plan, seed);
  const lines = function* (): Generator<string> {
    for (const record of records) {
      planted.lines += 1;
      planted.clean += 1;
      yield JSON.stringify(record);
      const fault = plant(record, rate);
      if (fault === undefined) continue;
      planted.lines += 1;
      kinds[fault.kind] += 1;
      outcomes[fault.outcome] += 1;
      onPlanted({ kind: fault.kind, outcome: fault.outcome, line: planted.lines });
      yield fault.text;
    }
  };
  return { chunks: chunksOf(lines()), planted };
}

interface Fault {
  readonly kind: FaultKind;
  readonly outcome: Outcome;
  readonly text: string;
}

function createPlanter(plan: Plan, seed: number): (record: unknown, rate: number) => Fault | undefined {
  const draw = createDraw(seed ^ 0x5eed);
  let oversized = 0;
  /** What a duplicate repeats lies anywhere before it, also a long way. */
  let earlier: Row | undefined;
  return (record, rate) => {
    const isFitting = isRow(record) && plan.fits(record);
    if (isFitting && (earlier === undefined || draw.chance(0.002))) earlier = record;
    if (!isFitting || earlier === undefined || !draw.chance(rate)) return undefined;
    const kind = draw.pick(faultKinds);
    if (kind === 'oversize') oversized += 1;
    return spoil(plan, kind === 'oversize' && oversized > oversizeMax ? 'notJson' : kind, record, earlier);
  };
}

function spoil(plan: Plan, kind: FaultKind, record: Row, earlier: Row): Fault {
  const { outcomes } = plan;
  switch (kind) {
    case 'notJson':
      return { kind, outcome: 'unreadable', text: JSON.stringify(record).slice(0, -2) };
    case 'missingId':
      return { kind, outcome: outcomes.missingId, text: JSON.stringify(plan.withId(record, null)) };
    case 'junkId':
      return { kind, outcome: outcomes.junkId, text: JSON.stringify(plan.withId(record, 'undefined')) };
    case 'badTime':
      return { kind, outcome: outcomes.badTime, text: JSON.stringify(plan.withTime(record, '2024-13-45 25:61')) };
    case 'oversize': {
      const text = 'x'.repeat(oversizeBytes);
      return { kind, outcome: 'refused', text: JSON.stringify(plan.withText(record, text)) };
    }
    case 'duplicate':
      return { kind, outcome: outcomes.duplicate, text: JSON.stringify(earlier) };
  }
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function* chunksOf(lines: Iterable<string>): Generator<Buffer> {
  let text = '';
  for (const line of lines) {
    text += `${line}\n`;
    if (text.length < chunkBytes) continue;
    yield Buffer.from(text);
    text = '';
  }
  if (text !== '') yield Buffer.from(text);
}
