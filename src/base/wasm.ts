import { existsSync, readFileSync } from 'node:fs';

/** Of the platform: the types of Node have them only together with those of browsers. */
interface WasmPlatform {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Memory: new (size: { readonly initial: number }) => WasmMemory;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
}

export interface WasmMemory {
  /** Another one after `grow`. */
  readonly buffer: ArrayBuffer;
  /** By pages of 64 KiB. */
  grow(pages: number): number;
}

export const wasmPageBytes = 65_536;

const platform = (globalThis as unknown as { readonly WebAssembly: WasmPlatform }).WebAssembly;

/** By the file that declares them. */
export type WasmImports = Readonly<Record<string, Readonly<Record<string, (...args: number[]) => number>>>>;

/** Functions of a module of assembly/, and the memory that they work on. */
export interface Wasm<Exports> {
  readonly exports: Exports;
  readonly memory: WasmMemory;
}

/**
 * A module of assembly/ with `pages` of memory, as the build has made it (tools/build-assembly.js); undefined: it has not.
 * `Exports`: what its source exports. `imports`: the functions that it declares.
 */
export function openWasm<Exports>(name: string, pages: number, imports: WasmImports = {}): Wasm<Exports> | undefined {
  const file = new URL(`../../dist/${name}.wasm`, import.meta.url);
  return existsSync(file) ? openWasmFile<Exports>(file, pages, imports) : undefined;
}

/** The same of a file that is there. */
export function openWasmFile<Exports>(file: URL | string, pages: number, imports: WasmImports = {}): Wasm<Exports> {
  const memory = new platform.Memory({ initial: pages });
  const abort = (): never => {
    throw new Error(`the code of ${file} gave up`);
  };
  const module = new platform.Module(readFileSync(file));
  const instance = new platform.Instance(module, { env: { memory, abort }, ...imports });
  // Sound: both are made of the same source.
  return { exports: instance.exports as Exports, memory };
}
