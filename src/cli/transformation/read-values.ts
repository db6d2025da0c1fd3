import { createReadStream } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { JsonValue } from '../../base/json.ts';
import { containerOf } from '../../imports/records/detect.ts';
import type { CommandProcess } from '../terminal.ts';
import { CommandError } from '../exit-codes.ts';

/** A sample, not a dump: everything is kept in memory. */
const bytesMax = 64 * 1024 * 1024;

/**
 * The JSON values of a file, or of stdin for `-`: one value, an array of them, a batch object with `batch`, or one per line;
 * plain or gzipped. Errors: CommandError usage naming `option`.
 */
export async function readValues(process: CommandProcess, path: string, option: string): Promise<JsonValue[]> {
  const text = (await readText(process, path, option)).replace(/^\ufeff/, '');
  const whole = parsed(text);
  if (whole !== undefined) return valuesOf(whole);
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const value = parsed(line);
    if (value !== undefined) return [value];
    const place = `${path}, line ${index + 1}`;
    throw new CommandError(
      'usage',
      `${option}: expected JSON, an array of it, or one value per line (${place} is none of it)`,
    );
  });
}

function valuesOf(value: JsonValue): JsonValue[] {
  if (Array.isArray(value)) return value;
  const batch = typeof value === 'object' && value !== null && !('event' in value) ? value['batch'] : undefined;
  return Array.isArray(batch) ? batch : [value];
}

async function readText({ stdin }: CommandProcess, path: string, option: string): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of path === '-' ? stdin : createReadStream(path)) {
      chunks.push(chunk as Buffer);
      size += (chunk as Buffer).length;
      if (size > bytesMax) throw new Error(`more than ${bytesMax / 1024 / 1024} MiB`);
    }
    const bytes = Buffer.concat(chunks);
    const text = containerOf(bytes) === 'gzip' ? gunzipSync(bytes, { maxOutputLength: bytesMax }) : bytes;
    return text.toString('utf8');
  } catch (cause) {
    throw new CommandError('usage', `${option}: cannot read ${path} (${(cause as Error).message})`, { cause });
  }
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    // The caller says what was expected.
    return undefined;
  }
}
