import { StagingMissingError, stagingKeys, type Staging } from '../../staging.ts';
import { readJson } from './read-json.ts';

/**
 * Attached months whose facts about persons and groups are not completely delivered; their days count as loaded afterwards. Stored in
 * staging, so that an interrupted load continues with it.
 */
export interface PendingFacts {
  /** 202403 */
  readonly months: readonly number[];
  /** Delivered slices. */
  readonly slicesDone: number;
}

export const noFacts: PendingFacts = { months: [], slicesDone: 0 };

/** Reads pending facts. `hasBegun`: whether the load has admitted events; otherwise those of an earlier load are discarded. */
export async function openPendingFacts(staging: Staging, run: string, hasBegun: boolean): Promise<PendingFacts> {
  if (!hasBegun) await staging.remove(stagingKeys.pendingFacts(run));
  try {
    // writePendingFacts wrote it.
    return (await readJson(staging, stagingKeys.pendingFacts(run))) as PendingFacts;
  } catch (error) {
    if (error instanceof StagingMissingError) return noFacts;
    throw error;
  }
}

export async function writePendingFacts(staging: Staging, run: string, pending: PendingFacts): Promise<void> {
  await staging.write(stagingKeys.pendingFacts(run), [Buffer.from(JSON.stringify(pending))]);
}
