import { parseExactValues } from '../../../base/exact-json.ts';
import type { CheckResult, UndoResult, VerifyResult } from '../../run/results.ts';
import type { ReportResult } from './report.ts';
import { StagingMissingError, stagingKeys, type Staging } from '../../staging.ts';
import { unzstdChunks } from '../../records/decompress.ts';

/** Larger than any result, because their lists are limited. */
const resultBytesMax = 256 * 1024 * 1024;

/** Returns `undefined` before the check, and after the files of the run are removed. */
export async function readCheck(staging: Staging, run: string): Promise<CheckResult | undefined> {
  return (await readJson(staging, stagingKeys.check(run))) as CheckResult | undefined;
}

export async function readVerify(staging: Staging, run: string): Promise<VerifyResult | undefined> {
  return (await readJson(staging, stagingKeys.verify(run))) as VerifyResult | undefined;
}

export async function readUndo(staging: Staging, run: string): Promise<UndoResult | undefined> {
  return (await readJson(staging, stagingKeys.undo(run))) as UndoResult | undefined;
}

async function readJson(staging: Staging, key: string): Promise<unknown> {
  const bytes = await readWhole(staging, key);
  return bytes === undefined ? undefined : parseExactValues(bytes.toString('utf8'));
}

/** Returns `undefined` if the file does not exist. */
async function readWhole(staging: Staging, key: string): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of staging.read(key)) {
      length += chunk.length;
      if (length > resultBytesMax) throw new Error(`expected ${key} to have at most ${resultBytesMax} bytes, got more`);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof StagingMissingError) return undefined;
    throw error;
  }
  return Buffer.concat(chunks, length);
}

export async function readReport(staging: Staging, run: string): Promise<ReportResult | undefined> {
  return (await readJson(staging, stagingKeys.report(run, 'json'))) as ReportResult | undefined;
}

/**
 * Yields the rejected records of a run as NDJSON, in the order of file names (check, export, load), with only a piece of one file in
 * memory; a file may have many frames.
 */
export async function* rejectedLines(staging: Staging, run: string): AsyncGenerator<Buffer> {
  for (const { key } of await staging.list(`${run}/rejected/`)) yield* unzstdChunks(staging.read(key), key);
}
