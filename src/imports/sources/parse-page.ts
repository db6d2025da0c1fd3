import { parseExact } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import { SourceWaitError, type RecordChunk } from '../source.ts';

/** Parses a page of JSON as an object. Any other page was cut off, or is an error page of a proxy. */
export function parsePage(bytes: Buffer, name: string): Readonly<Record<string, unknown>> {
  try {
    const value = parseExact(bytes.toString('utf8'));
    if (isObject(value)) return value;
  } catch (cause) {
    throw brokenPage(name, bytes, cause);
  }
  throw brokenPage(name, bytes, undefined);
}

function brokenPage(name: string, bytes: Buffer, cause: unknown): SourceWaitError {
  const message = `${name}: expected a page that is a JSON object, got ${bytes.length} bytes of something else`;
  return new SourceWaitError(message, { unlimited: false, cause });
}

/** Writes records as lines; numbers keep their digits. */
export function chunkOf(records: readonly unknown[], bytesRead: number): RecordChunk {
  const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('');
  return { lines: Buffer.from(lines), count: records.length, bytesRead };
}
