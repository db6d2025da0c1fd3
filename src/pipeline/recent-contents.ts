import { fieldFrom, fieldTo, isStringAt } from '../wire/batch/spans.ts';
import type { ScannedBatch } from '../wire/batch/scanned-batch.ts';

/**
 * Remembers identity and content of recent events as hashes of their bytes: 12 bytes each, in a table where a later event may
 * replace an earlier one. A replaced event is not found; nothing else depends on it.
 */
export interface RecentContents {
  /** Whether an earlier event had the same project, uuid, name, distinct_id and day, but another time or other properties. */
  isOther(projectId: number, scan: ScannedBatch, index: number): boolean;
}

const slots = 2 ** 16;
const wordsPerSlot = 3;
/** Length of `"2026-11-20`. */
const dayBytes = 11;

export function createRecentContents(): RecentContents {
  const table = new Int32Array(slots * wordsPerSlot);
  let lastJson: Buffer | undefined;
  let view: DataView = new DataView(new ArrayBuffer(0));
  return {
    isOther: (projectId, scan, index) => {
      if (!isStringAt(scan.json, fieldFrom(scan, index, 'uuid'))) return false;
      if (scan.json !== lastJson) {
        lastJson = scan.json;
        view = new DataView(scan.json.buffer, scan.json.byteOffset, scan.json.byteLength);
      }
      const of = (field: Field, state: number): number =>
        hash(view, fieldFrom(scan, index, field), fieldTo(scan, index, field), state);
      const time = fieldFrom(scan, index, 'timestamp');
      const timeTo = fieldTo(scan, index, 'timestamp');
      const dayTo = Math.min(time + dayBytes, timeTo);
      const identify = (seed: number): number =>
        hash(view, time, dayTo, of('distinctId', of('name', of('uuid', projectId ^ seed))));
      const low = identify(0);
      const high = identify(0x9e3779b9);
      const content = of('properties', hash(view, dayTo, timeTo, 0));
      const at = (low & (slots - 1)) * wordsPerSlot;
      if (table[at] === low && table[at + 1] === high) return table[at + 2] !== content;
      table[at] = low;
      table[at + 1] = high;
      table[at + 2] = content;
      return false;
    },
  };
}

type Field = 'uuid' | 'name' | 'distinctId' | 'properties';

/** Hashes four bytes at a time as MurmurHash3 does; a missing span adds nothing. */
function hash(view: DataView, from: number, to: number, seed: number): number {
  let state = seed ^ (to - from);
  let at = from;
  if (from >= 0) {
    for (; at + 4 <= to; at += 4) state = mix(state, view.getInt32(at, true));
    for (; at < to; at++) state = mix(state, view.getUint8(at));
  }
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  return state ^ (state >>> 13);
}

function mix(state: number, word: number): number {
  const spread = Math.imul(word, 0xcc9e2d51);
  const mixed = state ^ Math.imul((spread << 15) | (spread >>> 17), 0x1b873593);
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0;
}
