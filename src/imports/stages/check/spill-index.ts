import { parseExactValues } from '../../../base/exact-json.ts';
import { RunFailedError } from '../../run/leased-run.ts';
import { stagingKeys, StagingMissingError, type Staging } from '../../staging.ts';
import type { Findings } from './findings.ts';
import type { SpillRun } from './spill-buffer.ts';

/**
 * What lies beside a spill: where its events are, the names that its blocks mean, and what was found in the segment.
 */
export interface SpillIndex {
  readonly names: readonly string[];
  readonly runs: readonly SpillRun[];
  readonly findings: Findings;
}

/** `findings`: their JSON. */
export async function writeSpillIndex(
  staging: Staging,
  run: string,
  part: number,
  segment: number,
  { names, runs, findings }: Omit<SpillIndex, 'findings'> & { readonly findings: string },
): Promise<void> {
  const json = `{"names":${JSON.stringify(names)},"runs":${JSON.stringify(runs)},"findings":${findings}}`;
  await staging.write(stagingKeys.spillIndex(run, part, segment), [Buffer.from(json)]);
}

/** Throws RunFailedError when it is not there or is damaged. */
export async function readSpillIndex(
  staging: Staging,
  run: string,
  part: number,
  segment: number,
): Promise<SpillIndex> {
  const key = stagingKeys.spillIndex(run, part, segment);
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of staging.read(key)) chunks.push(chunk);
    // What writeSpillIndex wrote: a file that was written whole, or none.
    // Samples in it keep their digits.
    return parseExactValues(Buffer.concat(chunks).toString()) as unknown as SpillIndex;
  } catch (cause) {
    if (!(cause instanceof SyntaxError || cause instanceof StagingMissingError)) throw cause;
    throw new RunFailedError(
      `expected ${key} in ${staging.description} as the check wrote it, got: ${
        cause instanceof SyntaxError ? 'a damaged file' : 'no such file'
      }`,
      { advice: 'startAnew', cause },
    );
  }
}
