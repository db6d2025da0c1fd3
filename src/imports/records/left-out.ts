import type { ForeignFiles } from '../source.ts';
import { isDocument, type TextForm } from './detect.ts';
import type { CsvDialect } from './read-csv.ts';
import type { Piece } from './piece.ts';

interface TextHead {
  readonly form: TextForm;
  /** The head of the text. */
  readonly bytes: Buffer;
  /** Whether the head is the whole text. */
  readonly isWhole: boolean;
  /** Reads the head in this form. */
  readonly read: () => AsyncIterable<Piece>;
}

interface LeftOut {
  readonly reason: string;
  /** Number of objects in it. */
  readonly records: number;
}

const noRecords: LeftOut = { reason: 'no records of this format', records: 0 };

/**
 * Returns why a text among others is skipped, or `undefined` to read it. Only small texts without a single record of the format
 * and documents for people are skipped: parts of a damaged export never are, and other forms of data remain an error.
 */
export async function reasonToLeaveOut({ isRecord }: ForeignFiles, head: TextHead): Promise<LeftOut | undefined> {
  const { form, bytes, isWhole } = head;
  if (isDocument(bytes)) return noRecords;
  if (!isWhole || form.kind === 'texts') return undefined;
  if (form.kind === 'unknown') return form.isData ? undefined : noRecords;
  if (bytes.toString('utf8').trim() === '') return { reason: 'it is empty', records: 0 };
  const found = await recordsIn(head);
  if (found === undefined || found.some(isRecord)) return undefined;
  // In a table without a matching row, the column names decide.
  if (found.length === 0 && form.kind === 'csv' && isRecord(columnsOf(bytes, form))) return undefined;
  // Prose with commas looks like a table.
  return { ...noRecords, records: form.kind === 'csv' ? 0 : found.length };
}

/** Returns `undefined` if a line is broken JSON, which may have been a record. */
async function recordsIn({ form, read }: TextHead): Promise<readonly unknown[] | undefined> {
  const records: unknown[] = [];
  for await (const { lines, faults } of read()) {
    if (faults.length > 0 && form.kind !== 'csv') return undefined;
    for (const line of lines.toString('utf8').split('\n')) {
      if (line.trim() === '') continue;
      try {
        records.push(JSON.parse(line));
      } catch {
        return undefined;
      }
    }
  }
  return records;
}

function columnsOf(bytes: Buffer, { delimiter, separatorLine }: CsvDialect): Record<string, string> {
  const header = bytes.toString('utf8').split(/\r?\n|\r/)[separatorLine === true ? 1 : 0] ?? '';
  return Object.fromEntries(header.split(delimiter).map((name) => [name.replaceAll('"', '').trim(), '']));
}
