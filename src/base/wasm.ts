import { existsSync, readFileSync } from 'node:fs';

/** Node's types only include these together with browser types. */
interface WasmPlatform {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Memory: new (size: { readonly initial: number }) => WasmMemory;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
}

export interface WasmMemory {
  /** A new buffer after `grow`. */
  readonly buffer: ArrayBuffer;
  /** `pages` of 64 KiB. */
  grow(pages: number): number;
}

export const wasmPageBytes = 65_536;

const platform = (globalThis as unknown as { readonly WebAssembly: WasmPlatform }).WebAssembly;

/** Grouped by the file that declares them. */
export type WasmImports = Readonly<Record<string, Readonly<Record<string, (...args: number[]) => number>>>>;

/** Exports of a module of assembly/ and its memory. */
export interface Wasm<Exports> {
  readonly exports: Exports;
  readonly memory: WasmMemory;
}

/**
 * Opens a module of assembly/ with `pages` of memory, as built by tools/build-assembly.js, or returns `undefined` if it is not
 * built. `Exports` are the exports of its source, `imports` the functions that it declares.
 */
export function openWasm<Exports>(name: string, pages: number, imports: WasmImports = {}): Wasm<Exports> | undefined {
  const file = new URL(`../../dist/${name}.wasm`, import.meta.url);
  return existsSync(file) ? openWasmFile<Exports>(file, pages, imports) : undefined;
}

/** Opens a module whose file exists. */
export function openWasmFile<Exports>(file: URL | string, pages: number, imports: WasmImports = {}): Wasm<Exports> {
  const memory = new platform.Memory({ initial: pages });
  const abort = (): never => {
    throw new Error(`the code of ${file} aborted`);
  };
  const module = new platform.Module(readFileSync(file));
  const instance = new platform.Instance(module, { env: { memory, abort }, ...imports });
  // Sound: both are built from the same source.
  return { exports: instance.exports as Exports, memory };
}
