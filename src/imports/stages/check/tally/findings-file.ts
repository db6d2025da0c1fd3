import { parseExactValues } from '../../../../base/exact-json.ts';
import { RunFailedError } from '../../../run/leased-run.ts';
import { stagingKeys, StagingMissingError, type Staging } from '../../../staging.ts';
import type { Findings } from './findings.ts';
import type { DaySum } from '../rows/segment-rows.ts';

/** Findings of a segment, and the sums of its rows. */
interface FoundInSegment {
  readonly sums: readonly DaySum[];
  readonly findings: Findings;
}

/** `findings` is JSON. */
export async function writeFindings(
  staging: Staging,
  run: string,
  { seq, index }: { readonly seq: number; readonly index: number },
  { sums, findings }: Pick<FoundInSegment, 'sums'> & { readonly findings: string },
): Promise<void> {
  const json = `{"sums":${JSON.stringify(sums)},"findings":${findings}}`;
  await staging.write(stagingKeys.findings(run, seq, index), [Buffer.from(json)]);
}

/** Throws RunFailedError if the file is missing or damaged. */
export async function readFindings(
  staging: Staging,
  run: string,
  { seq, index }: { readonly seq: number; readonly index: number },
): Promise<FoundInSegment> {
  const key = stagingKeys.findings(run, seq, index);
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of staging.read(key)) chunks.push(chunk);
    // writeFindings wrote it completely, or not at all. Samples in it keep their digits.
    return parseExactValues(Buffer.concat(chunks).toString()) as unknown as FoundInSegment;
  } catch (cause) {
    if (!(cause instanceof SyntaxError || cause instanceof StagingMissingError)) throw cause;
    const got = cause instanceof SyntaxError ? 'a damaged file' : 'no such file';
    throw new RunFailedError(`expected ${key} in ${staging.description} as the check wrote it, got: ${got}`, {
      advice: 'startAgain',
      cause,
    });
  }
}
