import type { WireEvent } from '../../../contract/wire-event.ts';
import type { Words } from './event-keys.ts';
import { countReason, emptyResult, type Sum } from './findings.ts';
import { createFirstValues, openValues, type SharedValues } from './first-values.ts';
import type { RecordLedger } from './record-ledger.ts';
import type { MadeLinks } from './segment-memory.ts';

/** Links that one segment made, each once. */
export interface SegmentLinks {
  /** Whether the event is one of them. */
  has(event: WireEvent): boolean;
  /** `name`: index of its name in the segment. */
  add(key: Words, link: SegmentLink): void;
  /** Six numbers each. */
  save(ledger: Pick<RecordLedger, 'eventsOfLinked'>): Float64Array;
}

interface SegmentLink {
  readonly micros: number;
  readonly name: number;
  readonly line: number;
}

const numbersPerLink = 6;

export function createSegmentLinks(made: MadeLinks): SegmentLinks {
  const numbers: number[] = [];
  const lines: number[] = [];
  return {
    // Few events have such a name, and looking for its UUID takes longer.
    has: ({ event, uuid }) => typeof event === 'string' && event.startsWith('$') && made.has(uuid),
    add: ({ low, high }, { micros, name, line }) => {
      numbers.push(low, high, micros, name, line, 0);
      lines.push(line);
    },
    save: (ledger) => {
      const saved = Float64Array.from(numbers);
      for (const [index, line] of lines.entries()) {
        saved[(index + 1) * numbersPerLink - 1] = ledger.eventsOfLinked(line);
      }
      return saved;
    },
  };
}

/**
 * Links that several segments made: the first one keeps it, and what the others have of it is left out when days are merged.
 * Segments are added in the order of the source; counted is what stays.
 */
export interface RepeatedLinks {
  /** `names`: of the segment. */
  add(segment: number, saved: Float64Array, names: readonly string[]): void;
  share(): SharedLinks;
  /** Counts the links that stay. `now`: ms since the epoch. */
  addTo(sum: Sum, now: number): void;
}

/** For the threads that merge days. */
export interface SharedLinks {
  readonly names: readonly string[];
  /** Key of the link → number of the segment that keeps it. */
  readonly keptBy: SharedValues;
}

/** Whether a segment before this one made the same link. `name`: index of its name. */
export type IsRepeated = (segment: number, name: number, low: number, high: number) => boolean;

/** `names`: of the indices. */
export function repeatedIn({ names: linkNames, keptBy }: SharedLinks, names: readonly string[]): IsRepeated {
  const isLink = names.map((name) => linkNames.includes(name));
  const kept = openValues(keptBy);
  return (segment, name, low, high) => isLink[name] === true && (kept.get(low, high) ?? segment) !== segment;
}

export function createRepeatedLinks(): RepeatedLinks {
  const firsts = createFirstValues(Infinity);
  const byName = new Map<string, number[]>();
  /** Records of which nothing is left but links that another segment keeps. */
  let emptied = 0;
  return {
    add: (segment, saved, names) => {
      const repeated = new Map<number, number>();
      for (let at = 0; at < saved.length; at += numbersPerLink) {
        const [low = 0, high = 0, micros = 0, name = 0, line = 0, ofLine = 0] = saved.subarray(at, at + numbersPerLink);
        const known = names[name] ?? '';
        const times = byName.get(known) ?? [];
        byName.set(known, times);
        if (firsts.firstOf(low, high, segment) === segment) times.push(micros);
        else {
          const count = (repeated.get(line) ?? 0) + 1;
          repeated.set(line, count);
          if (count === ofLine) emptied += 1;
        }
      }
    },
    share: () => ({ names: [...byName.keys()], keptBy: firsts.share() }),
    addTo: (sum, now) => {
      for (const [name, times] of byName) addLinks(sum, name, times, now);
      if (emptied === 0) return;
      sum.counts.converted -= emptied;
      countReason(sum.skipped, emptyResult, emptied);
    },
  };
}

function addLinks({ counts, byName }: Sum, name: string, times: readonly number[], now: number): void {
  const known = byName.get(name) ?? { count: 0, first: Infinity, last: -Infinity };
  for (const micros of times) {
    known.first = Math.min(known.first, micros);
    known.last = Math.max(known.last, micros);
    if (micros > now * 1000) counts.inFuture += 1;
  }
  known.count += times.length;
  byName.set(name, known);
  counts.events += times.length;
  if (name === '$identify') counts.identifies += times.length;
}
