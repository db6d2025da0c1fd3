import { assert } from '../../base/assert.ts';
import { openWasm, wasmPageBytes, type WasmMemory } from '../../base/wasm.ts';
import { eventKeys, keyBytesMax, propertyKeys, spanOfKey, type KeyTable } from './event-keys.ts';
import { bodyEventsMax, eventDepthMax, type ScanLimits } from './limits.ts';
import { spanStride } from './scanned-batch.ts';

/** What assembly/scan.ts exports, said there. */
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

/** Of a larger text the memory would be kept for as long as the thread lives; such bodies are rare. */
const textBytesMax = 4 * 1024 * 1024;
/** Behind the text: a zero byte, and what reading in blocks may reach. */
const paddingBytes = 32;
/** There is room for the rows of events that have this length on average. Of shorter ones little is sent. */
const eventBytesMin = 64;
const rowBytes = spanStride * Int32Array.BYTES_PER_ELEMENT;

export interface FoundElements {
  /** A row of `spanStride` numbers for each element. */
  readonly spans: Int32Array<ArrayBuffer>;
  /** Position after the `]`. */
  readonly end: number;
}

/**
 * Scans the events of an array in WebAssembly (assembly/scan.ts), in less than half of the time. It has its own memory, into which
 * texts are copied and which stays as large as the largest of them needed; nothing in it counts from one call to the next.
 */
export class FastScanner {
  readonly #exports: ScanExports;
  readonly #memory: WasmMemory;
  /** Where texts are copied to. */
  readonly #copyFrom: number;
  #bytes: Uint8Array<ArrayBuffer>;
  #cells: Int32Array<ArrayBuffer>;

  /** Undefined where assembly/ is not built. */
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
   * From the `[` at `from`. Undefined: something about the elements is unusual (an error, a problem, a key written with escapes, very
   * many short events, more text than it takes), and it has to be done the slow way.
   */
  scanElements(json: Uint8Array, from: number, limits: ScanLimits): FoundElements | undefined {
    const bytes = json.length;
    if (bytes > textBytesMax) return undefined;
    const copyEnd = this.#copyFrom + bytes;
    const rows = (copyEnd + paddingBytes + 3) & ~3;
    this.#makeRoom(rows + rowBytes * Math.ceil(bytes / eventBytesMin));
    // All of it: a view on what is needed would take longer to make than a kilobyte to copy.
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

  /** A table as assembly/scan.ts has it: the places, then 32 bytes for each key, of which the last one says what it means. */
  #fill<K>(at: number, table: KeyTable<K>, meaning: (key: K) => number): void {
    const entryBytes = keyBytesMax + 1;
    this.#bytes.set(table.places, at);
    for (const [index, { bytes, key }] of table.keys.entries()) {
      assert(
        /^[a-z_$]+$/.test(bytes.toString()),
        'keys of small letters, $ and _: what else may be escaped is overlooked',
      );
      const entry = at + table.places.length + (index + 1) * entryBytes;
      this.#bytes.set(bytes, entry);
      this.#bytes[entry + keyBytesMax] = meaning(key);
    }
    assert(table.keys.length < 32, 'fewer than 32 keys in a table, which assembly/scan.ts has room for');
  }
}
