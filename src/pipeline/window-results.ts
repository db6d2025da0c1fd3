import type { Clock } from '../base/clock.ts';
import type { WarningOccurrence, WarningType } from '../contract/warnings.ts';
import type { DamagedRecord, IntactRecord, Lane } from '../eventlog/eventlog.ts';
import { deadEvent, deadRecord, noProject, type DeadLetterRow } from './dead-letters.ts';
import type { RecordContext } from './draft.ts';
import type { RecordPlan } from './open-record.ts';
import { deadLetter, type DeadLetter, type Drop } from './outcome.ts';
import { createWarningTally, type WarningCount } from './warning-tally.ts';
import type { WindowCounts } from './window.ts';

/** Everything that a window gathers besides rows and persons. */
export interface WindowResults {
  received(record: IntactRecord): void;
  event(): void;
  stored(count: number): void;
  warn(context: RecordContext, warning: WarningOccurrence): void;
  droppedEvent(plan: RecordPlan, index: number, outcome: Drop): void;
  deadEvent(plan: RecordPlan, index: number, outcome: DeadLetter): void;
  deadRecord(lane: Lane, record: IntactRecord | DamagedRecord, outcome: DeadLetter): void;
  /** A fault of ours as an outcome. */
  failure(error: unknown): DeadLetter;
  take(): Gathered;
}

interface Gathered {
  readonly warnings: readonly WarningCount[];
  readonly deadLetters: readonly DeadLetterRow[];
  readonly counts: WindowCounts;
  readonly oldestReceivedAt: number | undefined;
}

export function createWindowResults(clock: Clock): WindowResults {
  const warnings = createWarningTally();
  const deadLetters: DeadLetterRow[] = [];
  const counts: WindowCounts = { events: 0, bodyBytes: 0, stored: 0, dropped: new Map(), dead: new Map() };
  let oldestReceivedAt: number | undefined;
  const died = (row: DeadLetterRow, projectId: number, receivedAt: number): void => {
    deadLetters.push(row);
    increase(counts.dead, row.reason);
    const details = { deadLetter: row.id, event: row.event, distinctId: row.distinct_id, detail: row.detail };
    warnings.add(projectId, receivedAt, { type: row.reason, details });
  };
  return {
    received: ({ header, body }) => {
      counts.bodyBytes += body.byteLength;
      oldestReceivedAt = Math.min(oldestReceivedAt ?? Infinity, header.receivedAt);
    },
    event: () => {
      counts.events += 1;
    },
    stored: (count) => {
      counts.stored += count;
    },
    warn: (context, warning) => warnings.add(context.projectId, context.receivedAt, warning),
    droppedEvent: ({ context }, index, { reason, detail }) => {
      increase(counts.dropped, reason);
      warnings.add(context.projectId, context.receivedAt, { type: reason, details: { detail, index } });
    },
    deadEvent: ({ context, scan }, index, outcome) => {
      const { lane, seq, projectId, receivedAt } = context;
      died(deadEvent({ lane, seq, index, projectId, receivedAt }, outcome, scan), projectId, receivedAt);
    },
    deadRecord: (lane, record, outcome) => {
      const isDamaged = record.damaged !== undefined;
      const projectId = isDamaged ? noProject : record.header.projectId;
      const receivedAt = isDamaged ? clock.now() : record.header.receivedAt;
      const original = isDamaged ? record.bytes : record.body;
      died(
        deadRecord({ lane, seq: record.seq, index: -1, projectId, receivedAt }, outcome, original),
        projectId,
        receivedAt,
      );
    },
    failure: (error) => {
      const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      return deadLetter('processing_failed', text);
    },
    take: () => ({ warnings: warnings.counts(), deadLetters, counts, oldestReceivedAt }),
  };
}

function increase(counts: Map<WarningType, number>, reason: WarningType): void {
  counts.set(reason, (counts.get(reason) ?? 0) + 1);
}
