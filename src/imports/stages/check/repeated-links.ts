import type { WireEvent } from '../../../contract/wire-event.ts';
import { latestStay, type Links } from '../../formats/reader-memory.ts';
import type { Words } from './event-keys.ts';
import { countReason, emptyResult, type Sum } from './findings.ts';
import { createFirstValues, openValues, type SharedValues } from './first-values.ts';
import type { RecordLedger } from './record-ledger.ts';

/** Links that one segment made: events that say once what many records do. */
export interface SegmentLinks {
  /** Whether the event is one of them. */
  has(event: WireEvent): boolean;
  /** `name`: index of its name in the segment. */
  add(key: Words, link: SegmentLink): void;
  /** Six numbers each. */
  save(ledger: Pick<RecordLedger, 'linksOf'>): Float64Array;
}

interface SegmentLink {
  readonly micros: number;
  readonly name: number;
  readonly line: number;
}

const numbersPerLink = 6;

/** `made`: what the readers have made. */
export function createSegmentLinks(made: Pick<Links, 'has'>): SegmentLinks {
  const numbers: number[] = [];
  const lines: number[] = [];
  return {
    has: ({ uuid }) => typeof uuid === 'string' && made.has(uuid),
    add: ({ low, high }, { micros, name, line }) => {
      numbers.push(low, high, micros, name, line, 0);
      lines.push(line);
    },
    save: (ledger) => {
      const saved = Float64Array.from(numbers);
      for (const [index, line] of lines.entries()) {
        saved[(index + 1) * numbersPerLink - 1] = ledger.linksOf(line);
      }
      return saved;
    },
  };
}

/**
 * Links that several segments made, or one of them at several times: the earliest one stays, or the latest one where its name is in
 * `latestStay`, of equal times the first in the order of the source, and the others are dropped when days are merged. Segments are added in the order of the source; counted is what stays.
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
  /** Key of the link → number of the link. */
  readonly numbers: SharedValues;
  /** By number: segment and time (µs) of the one that stays. */
  readonly segments: Uint32Array;
  readonly micros: Float64Array;
}

/** Whether another one stays of the same link. `name`: index of its name; `micros`: its time. */
export type IsRepeated = (segment: number, name: number, low: number, high: number, micros: number) => boolean;

/** `names`: of the indices. */
export function repeatedIn(links: SharedLinks, names: readonly string[]): IsRepeated {
  const isLink = names.map((name) => links.names.includes(name));
  const numbers = openValues(links.numbers);
  return (segment, name, low, high, micros) => {
    const number = isLink[name] === true ? numbers.get(low, high) : undefined;
    if (number === undefined) return false;
    return links.segments[number] !== segment || links.micros[number] !== micros;
  };
}

interface Kept {
  readonly segment: number;
  readonly micros: number;
  readonly name: string;
  readonly line: number;
  /** Links of its line, which has nothing else; Infinity: it has. */
  readonly ofLine: number;
}

export function createRepeatedLinks(): RepeatedLinks {
  const numbers = createFirstValues(Infinity);
  const kept: Kept[] = [];
  const repeatedOfLine = new Map<string, number>();
  /** Records of which nothing is left but links of which another one stays. */
  let emptied = 0;
  let repeated = 0;
  const leaveOut = ({ segment, line, ofLine }: Kept): void => {
    repeated += 1;
    if (ofLine === Infinity) return;
    const place = `${segment} ${line}`;
    const count = (repeatedOfLine.get(place) ?? 0) + 1;
    if (ofLine > 1) repeatedOfLine.set(place, count);
    if (count === ofLine) emptied += 1;
  };
  return {
    add: (segment, saved, names) => {
      for (let at = 0; at < saved.length; at += numbersPerLink) {
        const [low = 0, high = 0, micros = 0, name = 0, line = 0, ofLine = 0] = saved.subarray(at, at + numbersPerLink);
        const link = { segment, micros, name: names[name] ?? '', line, ofLine };
        const number = numbers.firstOf(low, high, kept.length) ?? kept.length;
        const known = kept[number];
        if (known === undefined) kept.push(link);
        else if (latestStay.has(link.name) ? micros <= known.micros : micros >= known.micros) leaveOut(link);
        else {
          kept[number] = link;
          leaveOut(known);
        }
      }
    },
    share: () => ({
      names: [...new Set(kept.map(({ name }) => name))],
      numbers: numbers.share(),
      segments: shared(Uint32Array, kept.length, (number) => kept[number]?.segment ?? 0),
      micros: shared(Float64Array, kept.length, (number) => kept[number]?.micros ?? 0),
    }),
    addTo: (sum, now) => {
      for (const [name, times] of timesByName(kept)) addLinks(sum, name, times, now);
      // With a choice these count among the events that it has read.
      if (sum.choice.read > 0) sum.choice.read -= repeated;
      if (emptied === 0) return;
      sum.counts.converted -= emptied;
      countReason(sum.skipped, emptyResult, emptied);
    },
  };
}

function timesByName(links: readonly Kept[]): ReadonlyMap<string, readonly number[]> {
  const byName = new Map<string, number[]>();
  for (const { name, micros } of links) {
    const times = byName.get(name);
    if (times === undefined) byName.set(name, [micros]);
    else times.push(micros);
  }
  return byName;
}

/** In memory that threads share. */
function shared<Numbers extends Uint32Array | Float64Array>(
  Of: { new (buffer: SharedArrayBuffer): Numbers; readonly BYTES_PER_ELEMENT: number },
  length: number,
  valueOf: (index: number) => number,
): Numbers {
  const numbers = new Of(new SharedArrayBuffer(length * Of.BYTES_PER_ELEMENT));
  for (let index = 0; index < length; index += 1) numbers[index] = valueOf(index);
  return numbers;
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
