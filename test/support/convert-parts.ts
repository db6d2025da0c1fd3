import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openWasmFile } from '../../src/base/wasm.ts';

type TimeVariable = 'textZone' | 'numberZone' | 'timeUnit' | 'areDigits' | 'isKept';

/** Exports of assembly/convert-parts.ts. Positions are offsets in the memory, times whole µs; 0 means none. */
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
  /** Writes a text, followed by a line break, and returns its position. */
  put(text: string | Uint8Array): number;
  /** Free memory after the last text. */
  readonly free: number;
}

/** Builds and opens the parts. `fromZone` converts milliseconds of a zone's clock to UTC. */
export async function openConvertParts(
  fromZone: (zone: number, ms: number) => number = (_, ms) => ms,
): Promise<ConvertParts> {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const directory = mkdtempSync(join(tmpdir(), 'millrace-parts-'));
  const { href } = new URL('../../tools/build-assembly.js', import.meta.url);
  // Plain JavaScript, without types.
  const { buildAssembly } = (await import(href)) as {
    readonly buildAssembly: (to: string, names: readonly string[]) => Promise<void>;
  };
  await buildAssembly(relative(root, directory), ['convert-parts']);
  const host = { fromZone: (zone = 0, ms = 0): number => fromZone(zone, ms) };
  const { exports: code, memory } = openWasmFile<ConvertCode>(join(directory, 'convert-parts.wasm'), 16, { host });
  rmSync(directory, { recursive: true });
  const bytes = Buffer.from(memory.buffer);
  const start = Math.ceil(code.heapBase() / 16) * 16;
  let free = start;
  return {
    code,
    bytes,
    put: (text) => {
      const given = Buffer.from(text);
      bytes.set(given, start);
      bytes.fill(0, start + given.length, start + given.length + 64);
      bytes[start + given.length] = 0x0a;
      free = Math.ceil((start + given.length + 64) / 16) * 16;
      return start;
    },
    get free() {
      return free;
    },
  };
}
