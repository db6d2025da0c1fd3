import { zstdDecompress } from 'node:zlib';
import { promisify } from 'node:util';
import type { StoredPart } from '../../run/leased-run.ts';
import type { RejectedRecord, Staging } from '../../staging.ts';
import type { ErrorGroups } from './error-groups.ts';

const decompress = promisify(zstdDecompress);
/** Files of rejected records that are read for their examples; the counts do not depend on them. */
const filesMax = 1000;
const unknownFault = { code: 'unreadable_source', reason: 'a piece of the source that could not be read as a record' };

/**
 * Puts the pieces of the source that the export could not stage into the groups of errors; gives how many there are.
 */
export async function addFaults(
  staging: Staging,
  run: string,
  parts: readonly StoredPart[],
  errors: ErrorGroups,
): Promise<number> {
  const faults = parts.reduce((all, part) => all + part.faults, 0);
  if (faults === 0) return 0;
  let grouped = 0;
  for (const { key } of (await staging.list(`${run}/rejected/export-`)).slice(0, filesMax)) {
    for (const { code, reason, part, line, original } of await readRejected(staging, key)) {
      if (grouped === faults) break;
      errors.add(code, reason, { part, line, original });
      grouped += 1;
    }
  }
  if (grouped < faults) {
    const part = parts.find((each) => each.faults > 0)?.key ?? '';
    errors.add(unknownFault.code, unknownFault.reason, { part, line: 0, original: '' }, faults - grouped);
  }
  return faults;
}

async function readRejected(staging: Staging, key: string): Promise<RejectedRecord[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of staging.read(key)) chunks.push(chunk);
  const lines = (await decompress(Buffer.concat(chunks))).toString().split('\n');
  // What the export wrote.
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as RejectedRecord);
}
