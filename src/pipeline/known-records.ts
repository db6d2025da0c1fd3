import { recordFormat, type StoredRecord } from '../log/eventlog.ts';

/** A newer version of the program has written a record; one that can read it has to process the slot. */
export class NewerRecordError extends Error {
  override name = 'NewerRecordError';
}

/**
 * Returns the records before the first one of a newer format, which waits in the log.
 *
 * @param isWhole whether all records are needed
 * @throws NewerRecordError if none is left, or not all
 */
export function knownRecords(records: readonly StoredRecord[], isWhole: boolean): readonly StoredRecord[] {
  const at = records.findIndex((record) => formatOf(record) > recordFormat);
  const newer = records[at];
  if (newer === undefined) return records;
  if (at > 0 && !isWhole) return records.slice(0, at);
  throw new NewerRecordError(
    `expected records of format ${recordFormat} or older, got format ${formatOf(newer)} at ${newer.seq}: a newer version of Millrace ` +
      'wrote it; events wait until a process of that version has the slot',
  );
}

function formatOf(record: StoredRecord): number {
  return record.damaged === undefined ? (record.header.format ?? 1) : 1;
}
