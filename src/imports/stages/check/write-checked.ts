import type { Failpoint } from '../../../base/failpoint.ts';
import type { LeasedRun, StoredPart } from '../../run/leased-run.ts';
import { stagingKeys, type Staging } from '../../staging.ts';
import type { CheckedSegment } from './check-alone.ts';
import { writeHandOver } from './hand-over-file.ts';
import { writeSpillIndex } from './spill-index.ts';

/** Where a segment belongs. */
export interface SegmentRef {
  readonly part: StoredPart;
  readonly index: number;
}

/** A segment as it goes into staging. */
export type SegmentFiles = Pick<CheckedSegment, 'names' | 'runs' | 'findings' | 'rejected' | 'handOver'>;

/** Puts on record what was found in a segment, whose spill is written already. */
export async function writeChecked(
  { staging, failpoint }: { readonly staging: Staging; readonly failpoint: Failpoint },
  leased: LeasedRun,
  { part, index }: SegmentRef,
  { names, runs, findings, rejected, handOver }: SegmentFiles,
): Promise<void> {
  const { id } = leased.run;
  await writeSpillIndex(staging, id, part.seq, index, { names, runs, findings });
  await writeHandOver(staging, id, { seq: part.seq, index }, handOver);
  const rejectedKey = stagingKeys.rejected(id, `check-${pad(part.seq)}-${pad(index)}`);
  if (rejected.length > 0) await staging.write(rejectedKey, rejected);
  // Where a check was interrupted, the one before may have left a file that this one does not need.
  else if (index === part.checked) await staging.remove(rejectedKey);
  failpoint('import_spill_written');
  await leased.savePart(part.seq, { checked: index + 1 });
  failpoint('import_segment_checked');
}

function pad(index: number): string {
  return String(index).padStart(5, '0');
}
