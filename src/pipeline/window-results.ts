import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import type { WarningOccurrence, WarningType } from '../wire/contract/warnings.ts';
import type { DamagedRecord, IntactRecord, Lane } from '../log/eventlog.ts';
import { deadEvent, deadRecord, noProject, type DeadLetterRow } from './dead-letters.ts';
import type { RecordContext } from './event-draft.ts';
import { state, type OpenRecord } from './open-record.ts';
import type { LiveNotes } from './live-notes.ts';
import type { DeadLetter, Drop } from './outcome.ts';
import { createWarningTally, type WarningCount } from './warning-tally.ts';
import type { WindowCounts } from './window.ts';

interface Results {
  readonly warnings: readonly WarningCount[];
  readonly deadLetters: readonly DeadLetterRow[];
  readonly counts: WindowCounts;
  readonly oldestReceivedAt: number | undefined;
  readonly traceparents: readonly string[];
}

/** Collects everything of a window except rows and persons. */
export class WindowResults {
  readonly #logId: string;
  readonly #clock: Clock;
  readonly #live: LiveNotes;
  #warnings = createWarningTally();
  #deadLetters: DeadLetterRow[] = [];
  #counts = noCounts();
  #oldestReceivedAt: number | undefined;
  #traceparents: string[] = [];

  constructor(logId: string, clock: Clock, live: LiveNotes) {
    this.#logId = logId;
    this.#clock = clock;
    this.#live = live;
  }

  received({ header, body }: IntactRecord): void {
    this.#counts.bodyBytes += body.byteLength;
    this.#oldestReceivedAt = Math.min(this.#oldestReceivedAt ?? Infinity, header.receivedAt);
    if (header.traceparent !== undefined) this.#traceparents.push(header.traceparent);
  }

  events(count: number): void {
    this.#counts.events += count;
  }

  stored(count: number): void {
    this.#counts.stored += count;
  }

  warn({ projectId, receivedAt }: RecordContext, warnings: readonly WarningOccurrence[]): void {
    for (const warning of warnings) this.#warnings.add(projectId, receivedAt, warning);
  }

  /** Ends the processing of an event. */
  end(record: OpenRecord, index: number, outcome: Drop | DeadLetter): void {
    const { context, scan, states } = record;
    const { lane, seq, projectId, receivedAt, rowsStored } = context;
    const { reason, detail } = outcome;
    assert(
      states[index] !== state.row && states[index] !== state.ended,
      `event ${index} to be in progress and without a row`,
    );
    const place = { logId: this.#logId, lane, seq, index, projectId, receivedAt, rowsStored: rowsStored !== undefined };
    const dead = outcome.kind === 'drop' ? undefined : deadEvent(place, outcome, scan);
    const more = outcome.kind === 'drop' ? outcome.details : {};
    if (this.#live.isWatched(projectId)) this.#live.ended(record, index, outcome, dead);
    states[index] = state.ended;
    if (dead === undefined) {
      increase(this.#counts.dropped, reason);
      this.#warnings.add(projectId, receivedAt, { type: reason, details: { detail, index, ...more } });
      return;
    }
    this.#died(dead, projectId, receivedAt);
  }

  /** Ends a record whose events cannot be read. */
  endRecord(lane: Lane, record: IntactRecord | DamagedRecord, outcome: DeadLetter): void {
    const isDamaged = record.damaged !== undefined;
    const projectId = isDamaged ? noProject : record.header.projectId;
    const receivedAt = isDamaged ? this.#clock.now() : record.header.receivedAt;
    const original = isDamaged ? record.bytes : record.body;
    const place = { logId: this.#logId, lane, seq: record.seq, index: -1, projectId, receivedAt };
    this.#died(deadRecord(place, outcome, original), projectId, receivedAt);
  }

  take(): Results {
    const taken = {
      warnings: this.#warnings.counts(),
      deadLetters: this.#deadLetters,
      counts: this.#counts,
      oldestReceivedAt: this.#oldestReceivedAt,
      traceparents: this.#traceparents,
    };
    this.#warnings = createWarningTally();
    this.#deadLetters = [];
    this.#counts = noCounts();
    this.#oldestReceivedAt = undefined;
    this.#traceparents = [];
    return taken;
  }

  #died(row: DeadLetterRow, projectId: number, receivedAt: number): void {
    this.#deadLetters.push(row);
    increase(this.#counts.dead, row.reason);
    const details = { deadLetter: row.id, event: row.event, distinctId: row.distinct_id, detail: row.detail };
    this.#warnings.add(projectId, receivedAt, { type: row.reason, details });
  }
}

function noCounts(): WindowCounts {
  return { events: 0, bodyBytes: 0, stored: 0, dropped: new Map(), dead: new Map() };
}

function increase(counts: Map<WarningType, number>, reason: WarningType): void {
  counts.set(reason, (counts.get(reason) ?? 0) + 1);
}
