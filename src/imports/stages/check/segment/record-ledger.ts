import { countLines } from '../../../../base/count-lines.ts';
import { linesWithoutRecord } from '../../../source.ts';
import type { SegmentTally } from '../tally/segment-tally.ts';

/**
 * Counts by line what was written of a segment, where events become rows or are refused. The tally counts what readers returned. The two
 * are independent, so that an error in either shows.
 */
export interface RecordLedger {
  /** Records that an event of this line is a row or deferred. Lines come in order. */
  stored(line: number, isLink?: boolean): void;
  /** Records that an event of this line was refused. */
  refused(line: number): void;
  /** Lines with an event that was stored or refused. */
  readonly lines: number;
  /** Events that are rows or deferred. */
  readonly events: number;
  /** Number of links in a line of nothing but links; Infinity if it also has other events, stored or refused; 0 without a link. */
  linksOf(line: number): number;
}

export function createRecordLedger(): RecordLedger {
  const linksByLine = new Map<number, number>();
  let last = -1;
  let lines = 0;
  let events = 0;
  let own = 0;
  let links = 0;
  const count = (line: number, isLink: boolean): void => {
    if (line !== last) {
      lines += 1;
      last = line;
      own = 0;
      links = 0;
    }
    own += 1;
    if (isLink) links += 1;
    if (links > 0) linksByLine.set(line, links === own ? links : Infinity);
  };
  return {
    stored: (line, isLink = false) => {
      count(line, isLink);
      events += 1;
    },
    refused: (line) => count(line, false),
    linksOf: (line) => linksByLine.get(line) ?? 0,
    get lines() {
      return lines;
    },
    get events() {
      return events;
    },
  };
}

/** The counts of a segment by each side. */
export interface SegmentCounts {
  readonly lines: Buffer;
  readonly tally: Pick<SegmentTally, 'counts'>;
  readonly ledger: Pick<RecordLedger, 'lines' | 'events'>;
  /** Events that are rows or deferred. */
  readonly written: number;
}

/** Returns the counts that should agree but differ: `records with events: read and written: 3 and 2`. */
export function disagreements({ lines, tally, ledger, written }: SegmentCounts): readonly string[] {
  const { records, converted, skipped, unreadable, events } = tally.counts();
  const pairs: readonly (readonly [what: string, one: number, other: number])[] = [
    ['records: lines that begin a record and records read', countAllLines(lines) - linesWithoutRecord(lines), records],
    ['records read, and converted + skipped + unreadable', records, converted + skipped + unreadable],
    ['records with events: read and written', converted, ledger.lines],
    ['events: counted and written', events, ledger.events],
    ['events: written, and rows or deferred', ledger.events, written],
  ];
  return pairs.filter(([, one, other]) => one !== other).map(([what, one, other]) => `${what}: ${one} and ${other}`);
}

const newline = 0x0a;

/** Also a last line that has no end. */
function countAllLines(lines: Buffer): number {
  return countLines(lines) + (lines.length > 0 && lines.at(-1) !== newline ? 1 : 0);
}
