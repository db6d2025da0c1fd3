import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openWasmFile } from '../../src/base/wasm.ts';

type TimeVariable = 'textZone' | 'numberZone' | 'timeUnit' | 'areDigits' | 'isKept';

/** What assembly/convert-parts.ts exports: places are offsets in the memory, times whole µs, and 0 means none. */
export interface ConvertCode extends Readonly<Record<TimeVariable, { value: number }>> {
  heapBase(): number;
  valueEnd(from: number): number;
  writeContent(from: number, to: number): number;
  unescapeText(from: number, to: number, limit: number): number;
  unescapedEnd(): number;
  crc32(from: number, to: number): number;
  md5Of(message: number, length: number, sum: number): void;
  sha1Of(message: number, length: number, sum: number): void;
  microsOf(from: number, to: number): bigint;
  writeTime(to: number, micros: bigint): number;
}

export interface ConvertParts {
  readonly code: ConvertCode;
  readonly bytes: Buffer;
  /** Puts a text into memory, with a line's end behind it, and gives where. */
  put(text: string | Uint8Array): number;
  /** Behind what was put. */
  readonly free: number;
}

/** Built of the sources, for a test. `fromZone`: milliseconds in UTC of those of a clock in a zone. */
export async function openConvertParts(
  fromZone: (zone: number, ms: number) => number = (_, ms) => ms,
): Promise<ConvertParts> {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const made = mkdtempSync(join(tmpdir(), 'millrace-parts-'));
  const { href } = new URL('../../tools/build-assembly.js', import.meta.url);
  // Plain JavaScript, without types.
  const { buildAssembly } = (await import(href)) as {
    readonly buildAssembly: (to: string, names: readonly string[]) => Promise<void>;
  };
  await buildAssembly(relative(root, made), ['convert-parts']);
  const asks = { fromZone: (zone = 0, ms = 0): number => fromZone(zone, ms) };
  const { exports: code, memory } = openWasmFile<ConvertCode>(join(made, 'convert-parts.wasm'), 16, { ask: asks });
  rmSync(made, { recursive: true });
  const bytes = Buffer.from(memory.buffer);
  const place = Math.ceil(code.heapBase() / 16) * 16;
  let free = place;
  return {
    code,
    bytes,
    put: (text) => {
      const given = Buffer.from(text);
      bytes.set(given, place);
      bytes.fill(0, place + given.length, place + given.length + 64);
      bytes[place + given.length] = 0x0a;
      free = Math.ceil((place + given.length + 64) / 16) * 16;
      return place;
    },
    get free() {
      return free;
    },
  };
}
