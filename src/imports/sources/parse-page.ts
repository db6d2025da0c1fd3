import { isObject } from '../../base/json.ts';
import { SourceWaitError, type RecordChunk } from '../source.ts';

/** JSON of a page, as an object. A page that is none was cut off, or is an error page of something in between. */
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
  const message = `${name}: expected a page that is a JSON object, got ${bytes.length} bytes that are none`;
  return new SourceWaitError(message, { unlimited: false, cause });
}

/** Records as lines. Numbers that a double cannot hold keep their digits. */
export function chunkOf(records: readonly unknown[], bytesRead: number): RecordChunk {
  const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('');
  return { lines: Buffer.from(lines), count: records.length, bytesRead };
}

const longNumber = /\d{16}/;

/** JSON.stringify writes long numbers as they were read, where the text has any. */
function parseExact(text: string): unknown {
  if (!longNumber.test(text)) return JSON.parse(text);
  return JSON.parse(text, keepDigits as (this: unknown, key: string, value: unknown) => unknown);
}

function keepDigits(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || context.source === undefined || String(value) === context.source) return value;
  return longNumber.test(context.source) ? rawJson(context.source) : value;
}

/** Of JavaScript's newest edition; TypeScript's library does not name it yet. */
function rawJson(source: string): unknown {
  const { rawJSON } = JSON as JSON & { readonly rawJSON?: (text: string) => unknown };
  return rawJSON === undefined ? source : rawJSON(source);
}
