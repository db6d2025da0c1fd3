import { RunFailedError } from '../../run/leased-run.ts';
import type { Staging } from '../../staging.ts';

/** Reads a small JSON file of a run. Throws StagingMissingError, or RunFailedError if it is damaged. */
export async function readJson(staging: Staging, key: string): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of staging.read(key)) chunks.push(chunk);
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch (cause) {
    throw new RunFailedError(
      `expected ${key} in ${staging.description} as an earlier stage wrote it, got: a damaged file`,
      { advice: 'startAgain', cause },
    );
  }
}
