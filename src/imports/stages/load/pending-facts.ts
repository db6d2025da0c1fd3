import { StagingMissingError, stagingKeys, type Staging } from '../../staging.ts';
import { readJson } from './read-json.ts';

/**
 * Months that are attached, but of which persons and groups have not learned all: their days count as loaded once they have. It lies in
 * staging, so that a load that was interrupted continues with it.
 */
export interface PendingFacts {
  /** 202403 */
  readonly months: readonly number[];
  /** How many slices of them are delivered. */
  readonly slicesDone: number;
}

export const noFacts: PendingFacts = { months: [], slicesDone: 0 };

/** `isBegun`: whether the load has let events in; else, what an earlier one has left counts no more. */
export async function openPendingFacts(staging: Staging, run: string, isBegun: boolean): Promise<PendingFacts> {
  if (!isBegun) await staging.remove(stagingKeys.pendingFacts(run));
  try {
    // What writePendingFacts wrote.
    return (await readJson(staging, stagingKeys.pendingFacts(run))) as PendingFacts;
  } catch (error) {
    if (error instanceof StagingMissingError) return noFacts;
    throw error;
  }
}

export async function writePendingFacts(staging: Staging, run: string, pending: PendingFacts): Promise<void> {
  await staging.write(stagingKeys.pendingFacts(run), [Buffer.from(JSON.stringify(pending))]);
}
