import type { Clock } from '../../../base/clock.ts';
import { recordsIn, type LeasedRun, type StoredPart } from '../../run/leased-run.ts';
import { createRate } from '../rate.ts';

/** Sums up the progress of the parts, and shows it. */
export interface ExportProgress {
  /** Sets the parts to stage; called again when there are more. */
  expect(parts: readonly StoredPart[], partsTotal: number | undefined): void;
  /** Sets the absolute figures of one part; the sum is shown. */
  part(seq: number, state: PartProgress): void;
  /** Adds records, for the rate. */
  grew(records: number): void;
  records(): number;
  finish(): void;
}

interface PartProgress {
  readonly records: number;
  readonly faults: number;
  /** Bytes of the source. */
  readonly bytes: number;
  readonly complete: boolean;
}

export function createExportProgress(leased: LeasedRun, clock: Clock): ExportProgress {
  const rate = createRate(clock);
  const states = new Map<number, PartProgress>();
  let partsTotal: number | undefined;
  let bytesTotal: number | undefined;
  const sum = () => {
    const total = { records: 0, faults: 0, bytes: 0, partsDone: 0 };
    for (const state of states.values()) {
      total.records += state.records;
      total.faults += state.faults;
      total.bytes += state.bytes;
      total.partsDone += state.complete ? 1 : 0;
    }
    return total;
  };
  const show = (finished: boolean): void => {
    const { records, faults, bytes, partsDone } = sum();
    const done = records + faults;
    leased.progress(
      {
        stage: 'export',
        partsDone,
        ...(partsTotal === undefined ? {} : { partsTotal }),
        done,
        ...(finished ? { total: done, finishedAt: clock.now() } : {}),
        bytes,
        ...(bytesTotal === undefined ? {} : { bytesTotal }),
        rate: rate.perSecond(),
      },
      { records: done, rejected: faults },
    );
  };
  return {
    expect(parts, total) {
      partsTotal = total;
      const sizes = parts.map((part) => part.bytes);
      bytesTotal = sizes.every((size) => size !== undefined) ? sizes.reduce((a, b) => a + b, 0) : undefined;
      for (const part of parts) if (!states.has(part.seq)) states.set(part.seq, stagedBefore(part));
      show(false);
    },
    part(seq, state) {
      states.set(seq, state);
      show(false);
    },
    grew: (records) => rate.add(records),
    records: () => sum().records,
    finish: () => show(true),
  };
}

function stagedBefore(part: StoredPart): PartProgress {
  const records = recordsIn(part.segments);
  const { faults, complete } = part;
  return { records, faults, complete, bytes: complete ? (part.bytes ?? 0) : 0 };
}
