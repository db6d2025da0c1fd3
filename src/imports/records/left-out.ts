import type { ForeignFiles } from '../source.ts';
import { isDocument, type TextForm } from './detect.ts';
import type { CsvDialect } from './read-csv.ts';
import type { Piece } from './piece.ts';

interface TextHead {
  readonly form: TextForm;
  /** The beginning of the text. */
  readonly bytes: Buffer;
  /** There is no more of it. */
  readonly isWhole: boolean;
  /** Reads the beginning as the form says. */
  readonly read: () => AsyncIterable<Piece>;
}

interface LeftOut {
  readonly reason: string;
  /** Objects that it holds. */
  readonly records: number;
}

const noRecords: LeftOut = { reason: 'no records of this format', records: 0 };

/**
 * Why a text among others is left out; undefined: it is read. Only what is small and holds no single record of the format is, or
 * what is a document for people: of a damaged export nothing is left out, and other forms of data are an error still.
 */
export async function reasonToLeaveOut({ isRecord }: ForeignFiles, head: TextHead): Promise<LeftOut | undefined> {
  const { form, bytes, isWhole } = head;
  if (isDocument(bytes)) return noRecords;
  if (!isWhole || form.kind === 'texts') return undefined;
  if (form.kind === 'unknown') return form.isData ? undefined : noRecords;
  if (bytes.toString('utf8').trim() === '') return { reason: 'it is empty', records: 0 };
  const found = await recordsIn(head);
  if (found === undefined || found.some(isRecord)) return undefined;
  // Of a table without a row that fits, the names of its columns say what it is.
  if (found.length === 0 && form.kind === 'csv' && isRecord(columnsOf(bytes, form))) return undefined;
  // Prose with commas passes for a table.
  return { ...noRecords, records: form.kind === 'csv' ? 0 : found.length };
}

/** Undefined: a line of it is broken JSON, which may have been a record. */
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
