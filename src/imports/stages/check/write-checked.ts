import type { Failpoint } from '../../../base/failpoint.ts';
import type { LeasedRun, StoredPart } from '../../run/leased-run.ts';
import { stagingKeys, type Staging } from '../../staging.ts';
import type { CheckedSegment } from './check-alone.ts';
import { writeFindings } from './findings-file.ts';
import { writeHandOver } from './hand-over-file.ts';
import type { RunRows } from './run-rows.ts';

/** Where a segment belongs. */
export interface SegmentRef {
  readonly part: StoredPart;
  readonly index: number;
}

export interface WriteDeps {
  readonly staging: Staging;
  readonly failpoint: Failpoint;
  readonly rows: RunRows;
}

/** Puts on record what was found in a segment, its rows first. */
export async function writeChecked(
  { staging, failpoint, rows }: WriteDeps,
  leased: LeasedRun,
  { part, index }: SegmentRef,
  { found, findings, rejected, handOver }: CheckedSegment,
): Promise<void> {
  const { id } = leased.run;
  const place = { seq: part.seq, index };
  await rows.insert(`segment-${pad(part.seq)}-${pad(index)}`, found);
  await writeFindings(staging, id, place, { sums: found.sums, findings });
  await writeHandOver(staging, id, place, handOver);
  const rejectedKey = stagingKeys.rejected(id, `check-${pad(part.seq)}-${pad(index)}`);
  if (rejected.length > 0) await staging.write(rejectedKey, rejected);
  // Where a check was interrupted, the one before may have left a file that this one does not need.
  else if (index === part.checked) await staging.remove(rejectedKey);
  failpoint('import_rows_written');
  await leased.savePart(part.seq, { checked: index + 1 });
  failpoint('import_segment_checked');
}

function pad(index: number): string {
  return String(index).padStart(5, '0');
}
