import { assert } from '../../base/assert.ts';
import { openWasm, wasmPageBytes, type WasmMemory } from '../../base/wasm.ts';
import { eventKeys, keyBytesMax, propertyKeys, spanOfKey, type KeyTable } from './event-keys.ts';
import { bodyEventsMax, eventDepthMax, type ScanLimits } from './limits.ts';
import { spanStride } from './scanned-batch.ts';

/** Exports of assembly/scan.ts, documented there. */
interface ScanExports {
  readonly eventKeys: WasmGlobal;
  readonly propertyKeys: WasmGlobal;
  readonly tablesEnd: WasmGlobal;
  readonly count: WasmGlobal;
  scanElements(
    json: number,
    jsonEnd: number,
    from: number,
    rows: number,
    rowsMax: number,
    depthMax: number,
    keysMax: number,
    eventBytesMax: number,
  ): number;
}
interface WasmGlobal {
  readonly value: number;
}

/** Memory for larger texts would be kept as long as the thread lives, and such bodies are rare. */
const textBytesMax = 4 * 1024 * 1024;
/** After the text: a zero byte and what block reads may touch. */
const paddingBytes = 32;
/** Average event length for which memory for rows is reserved. Bodies of shorter events are rare. */
const eventBytesMin = 64;
const rowBytes = spanStride * Int32Array.BYTES_PER_ELEMENT;

export interface FoundElements {
  /** One row of `spanStride` numbers per element. */
  readonly spans: Int32Array<ArrayBuffer>;
  /** Position after the `]`. */
  readonly end: number;
}

/**
 * Scans the events of an array in WebAssembly (assembly/scan.ts) in less than half of the time. Texts are copied into its own
 * memory, which stays as large as the largest one needed. No state is kept between calls.
 */
export class FastScanner {
  readonly #exports: ScanExports;
  readonly #memory: WasmMemory;
  /** Where texts are copied to. */
  readonly #copyFrom: number;
  #bytes: Uint8Array<ArrayBuffer>;
  #cells: Int32Array<ArrayBuffer>;

  /** Returns `undefined` if assembly/ is not built. */
  static open(): FastScanner | undefined {
    const wasm = openWasm<ScanExports>('scan', 2);
    return wasm && new FastScanner(wasm.exports, wasm.memory);
  }

  private constructor(exports: ScanExports, memory: WasmMemory) {
    this.#exports = exports;
    this.#memory = memory;
    this.#copyFrom = exports.tablesEnd.value;
    this.#bytes = new Uint8Array(memory.buffer);
    this.#cells = new Int32Array(memory.buffer);
    this.#fill(exports.eventKeys.value, eventKeys, (key) => spanOfKey[key] ?? 0);
    this.#fill(exports.propertyKeys.value, propertyKeys, (key) => key);
  }

  /**
   * Scans from the `[` at `from`. Returns `undefined` if the elements are unusual (an error, a problem, an escaped key, very many
   * short events, too much text) and the slow path must scan them.
   */
  scanElements(json: Uint8Array, from: number, limits: ScanLimits): FoundElements | undefined {
    const bytes = json.length;
    if (bytes > textBytesMax) return undefined;
    const copyEnd = this.#copyFrom + bytes;
    const rows = (copyEnd + paddingBytes + 3) & ~3;
    this.#makeRoom(rows + rowBytes * Math.ceil(bytes / eventBytesMin));
    // Copies everything: creating a view of the needed part takes longer than copying a kilobyte.
    this.#bytes.set(json, this.#copyFrom);
    const end = this.#exports.scanElements(
      this.#copyFrom,
      copyEnd,
      from,
      rows,
      Math.min(bodyEventsMax, Math.floor((this.#bytes.length - rows) / rowBytes)),
      Math.min(limits.depthMax, eventDepthMax),
      limits.keysMax,
      Math.min(limits.eventBytesMax, textBytesMax),
    );
    if (end === 0) return undefined;
    const cells = this.#exports.count.value * spanStride;
    return { spans: this.#cells.slice(rows / 4, rows / 4 + cells), end };
  }

  #makeRoom(bytes: number): void {
    const missing = bytes - this.#bytes.length;
    if (missing <= 0) return;
    this.#memory.grow(Math.ceil(missing / wasmPageBytes));
    this.#bytes = new Uint8Array(this.#memory.buffer);
    this.#cells = new Int32Array(this.#memory.buffer);
  }

  /** Writes a table in the layout of assembly/scan.ts: the places, then 32 bytes per key, the last of which is its meaning. */
  #fill<K>(at: number, table: KeyTable<K>, meaning: (key: K) => number): void {
    const entryBytes = keyBytesMax + 1;
    this.#bytes.set(table.places, at);
    for (const [index, { bytes, key }] of table.keys.entries()) {
      assert(
        /^[a-z_$]+$/.test(bytes.toString()),
        'keys to consist of lower-case letters, $ and _, because escapes of other characters are not recognised',
      );
      const entry = at + table.places.length + (index + 1) * entryBytes;
      this.#bytes.set(bytes, entry);
      this.#bytes[entry + keyBytesMax] = meaning(key);
    }
    assert(table.keys.length < 32, 'fewer than 32 keys in a table, the maximum of assembly/scan.ts');
  }
}
