import { latestStay } from '../../formats/reader-memory.ts';
import { keyOf, type DeferredEvent } from './deferred-events.ts';
import type { Words } from './event-keys.ts';
import { countReason, emptyResult, type Sum } from './findings.ts';
import { createFirstValues } from './first-values.ts';

/**
 * Links that several segments made, or one of them at several times: events that say once what many records do. The earliest one stays,
 * or the latest one where its name is in `latestStay`, of equal times the first in the order of the source, and the others are
 * dropped. Segments are added in the order of the source; counted is what stays.
 */
export interface RepeatedLinks {
  /** `deferred`: of the segment. */
  add(segment: number, deferred: readonly DeferredEvent[]): void;
  /** Whether this one of several that are the same stays. */
  stays(segment: number, key: Words, micros: number): boolean;
  /** Counts the links that stay. `now`: ms since the epoch. */
  addTo(sum: Sum, now: number): void;
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
    add: (segment, deferred) => {
      for (const event of deferred) {
        if (event.link === undefined) continue;
        const { low, high } = keyOf(event);
        const {
          micros,
          event: name,
          link: { line, ofLine },
        } = event;
        const link = { segment, micros, name, line, ofLine };
        const number = numbers.firstOf(low, high, kept.length) ?? kept.length;
        const known = kept[number];
        if (known === undefined) kept.push(link);
        else if (latestStay.has(name) ? micros <= known.micros : micros >= known.micros) leaveOut(link);
        else {
          kept[number] = link;
          leaveOut(known);
        }
      }
    },
    stays: (segment, { low, high }, micros) => {
      const link = kept[numbers.get(low, high) ?? -1];
      return link?.segment === segment && link.micros === micros;
    },
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
