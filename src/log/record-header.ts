import { bodyEncodings, rowsStoredFor, type RecordHeader } from './eventlog.ts';

/** Returns undefined for a header that this release does not write, even if its checksum is right. */
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
  const { projectId, receivedAt, sentAt, ip, encoding, events, requestId, part, rowsStored, traceparent } =
    value as Partial<Record<keyof RecordHeader, unknown>>;
  return (
    Number.isInteger(projectId) &&
    typeof receivedAt === 'number' &&
    (sentAt === undefined || typeof sentAt === 'number') &&
    (ip === undefined || typeof ip === 'string') &&
    bodyEncodings.some((each) => each === encoding) &&
    Number.isInteger(events) &&
    typeof requestId === 'string' &&
    (part === undefined || Number.isInteger(part)) &&
    (traceparent === undefined || typeof traceparent === 'string') &&
    (rowsStored === undefined || rowsStoredFor.some((each) => each === rowsStored))
  );
}
