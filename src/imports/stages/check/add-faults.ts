import { zstdDecompress } from 'node:zlib';
import { promisify } from 'node:util';
import type { StoredPart } from '../../run/leased-run.ts';
import type { RejectedRecord, Staging } from '../../staging.ts';
import type { ErrorGroups } from './tally/error-groups.ts';

const decompress = promisify(zstdDecompress);
/** Maximum number of rejected-record files read for examples; counts do not depend on them. */
const filesMax = 1000;
const unknownFault = { code: 'unreadable_source', reason: 'part of the source could not be read as a record' };

/**
 * Rejected records whose place in the staged part is held by a line without a record, by part and line. There are few: each was
 * megabytes long.
 */
export type HeldLines = ReadonlyMap<string, ReadonlyMap<number, RejectedRecord>>;

export async function readHeldLines(staging: Staging, run: string): Promise<HeldLines> {
  const held = new Map<string, Map<number, RejectedRecord>>();
  for (const { key } of await staging.list(`${run}/rejected/export-`)) {
    for (const record of await readRejected(staging, key)) {
      if (record.held !== true) continue;
      const lines = held.get(record.part) ?? new Map<number, RejectedRecord>();
      held.set(record.part, lines.set(record.line, record));
    }
  }
  return held;
}

/**
 * Adds the pieces of the source that the export could not stage to the error groups and returns their number. Those with a
 * placeholder line are counted with the lines.
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
    for (const { code, reason, part, line, held, original } of await readRejected(staging, key)) {
      if (grouped === faults) break;
      if (held === true) continue;
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
  // Written by the export.
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as RejectedRecord);
}
