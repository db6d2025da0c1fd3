import { bodyEncodings, recordFormat, rowsStoredFor, type RecordHeader } from './eventlog.ts';

/**
 * Returns undefined for a header that this release does not write, even if its checksum is right. Of a header of a newer format only the
 * fields are known that every format has.
 */
export function parseRecordHeader(text: string): RecordHeader | undefined {
  let header: unknown;
  try {
    header = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isHeader(header) ? header : undefined;
}

function isHeader(value: unknown): value is RecordHeader {
  if (typeof value !== 'object' || value === null) return false;
  const { projectId, receivedAt, sentAt, ip, encoding, events, requestId, part, rowsStored, traceparent, format } =
    value as Partial<Record<keyof RecordHeader, unknown>>;
  const isForAll = Number.isInteger(projectId) && typeof receivedAt === 'number' && Number.isInteger(events);
  if (isForAll && Number.isInteger(format) && Number(format) > recordFormat) return true;
  return (
    isForAll &&
    (format === undefined || Number.isInteger(format)) &&
    (sentAt === undefined || typeof sentAt === 'number') &&
    (ip === undefined || typeof ip === 'string') &&
    bodyEncodings.some((each) => each === encoding) &&
    typeof requestId === 'string' &&
    (part === undefined || Number.isInteger(part)) &&
    (traceparent === undefined || typeof traceparent === 'string') &&
    (rowsStored === undefined || rowsStoredFor.some((each) => each === rowsStored))
  );
}
