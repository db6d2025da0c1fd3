import { latestStay } from '../../../formats/reader-memory.ts';
import { keyOf, type Deferred } from './deferred-events.ts';
import type { Words } from '../rows/event-keys.ts';
import { countReason, emptyResult, type Sum } from '../tally/findings.ts';
import { createFirstValues } from '../rows/first-values.ts';
import { packedLinkName } from '../rows/segment-links.ts';

/**
 * Links that several segments created, or one of them at several times: many records cause the same event. The earliest one stays, or the
 * latest one if its name is in `latestStay`, and at equal times the first one in the order of the source; the others are dropped. Segments
 * are added in the order of the source; only links that stay are counted.
 */
export interface RepeatedLinks {
  /** Adds the deferred events of a segment. */
  add(segment: number, deferred: Deferred): void;
  /** Returns whether this one of several equal links stays. */
  stays(segment: number, key: Words, micros: number): boolean;
  /** Counts the links that stay. `now` in ms since the epoch. */
  addTo(sum: Sum, now: number): void;
}

interface Link {
  readonly segment: number;
  readonly micros: number;
  readonly name: string;
  readonly line: number;
  /** Links of its line if it has nothing else; Infinity if it has. */
  readonly ofLine: number;
}

export function createRepeatedLinks(): RepeatedLinks {
  const numbers = createFirstValues(Infinity);
  const kept = createLinkList();
  const repeatedOfLine = new Map<string, number>();
  /** Records with nothing but links of which another copy stays. */
  let emptied = 0;
  let repeated = 0;
  const exclude = ({ segment, line, ofLine }: Pick<Link, 'segment' | 'line' | 'ofLine'>): void => {
    repeated += 1;
    if (ofLine === Infinity) return;
    const place = `${segment} ${line}`;
    const count = (repeatedOfLine.get(place) ?? 0) + 1;
    if (ofLine > 1) repeatedOfLine.set(place, count);
    if (count === ofLine) emptied += 1;
  };
  const add = (low: number, high: number, link: Link): void => {
    const number = numbers.firstOf(low, high, kept.size) ?? kept.size;
    if (number === kept.size) return kept.put(number, link);
    const known = kept.microsOf(number);
    if (latestStay.has(link.name) ? link.micros <= known : link.micros >= known) exclude(link);
    else {
      exclude(kept.lineOf(number));
      kept.put(number, link);
    }
  };
  return {
    add: (segment, { events, links: { count, keys, micros: times } }) => {
      for (const event of events) {
        if (event.link === undefined) continue;
        const { low, high } = keyOf(event);
        add(low, high, { segment, micros: event.micros, name: event.event, ...event.link });
      }
      // Each belongs to an event of its line.
      const link = { segment, micros: 0, name: packedLinkName, line: 0, ofLine: Infinity };
      for (let index = 0; index < count; index += 1) {
        link.micros = times[index] as number;
        add(keys[index * 2] as number, keys[index * 2 + 1] as number, link);
      }
    },
    stays: (segment, { low, high }, micros) => {
      const number = numbers.get(low, high);
      return number !== undefined && kept.lineOf(number).segment === segment && kept.microsOf(number) === micros;
    },
    addTo: (sum, now) => {
      kept.countIn(sum, now * 1000);
      // With a choice they count among the events before it.
      if (sum.choice.read > 0) sum.choice.read -= repeated;
      if (emptied === 0) return;
      sum.counts.converted -= emptied;
      countReason(sum.skipped, emptyResult, emptied);
    },
  };
}

/** Keeps links by number in little memory: there may be as many as persons. */
function createLinkList() {
  const segments: number[] = [];
  const times: number[] = [];
  const lines: number[] = [];
  const ofLines: number[] = [];
  const names: number[] = [];
  const allNames: string[] = [];
  const numberOf = (name: string): number => {
    const known = allNames.indexOf(name);
    return known < 0 ? allNames.push(name) - 1 : known;
  };
  return {
    get size(): number {
      return times.length;
    },
    put: (number: number, { segment, micros, line, ofLine, name }: Link): void => {
      segments[number] = segment;
      times[number] = micros;
      lines[number] = line;
      ofLines[number] = ofLine;
      names[number] = numberOf(name);
    },
    microsOf: (number: number): number => times[number] as number,
    lineOf: (number: number): Pick<Link, 'segment' | 'line' | 'ofLine'> => ({
      segment: segments[number] as number,
      line: lines[number] as number,
      ofLine: ofLines[number] as number,
    }),
    /** `now` in µs since the epoch. */
    countIn: ({ counts, byName }: Sum, now: number): void => {
      for (const [number, name] of allNames.entries()) {
        const known = byName.get(name) ?? { count: 0, first: Infinity, last: -Infinity };
        for (const [index, micros] of times.entries()) {
          if (names[index] !== number) continue;
          known.first = Math.min(known.first, micros);
          known.last = Math.max(known.last, micros);
          known.count += 1;
          counts.events += 1;
          if (name === '$identify') counts.identifies += 1;
          if (micros > now) counts.inFuture += 1;
        }
        byName.set(name, known);
      }
    },
  };
}
