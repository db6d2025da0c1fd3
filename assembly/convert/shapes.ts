// What objects have in common that say something of the same properties: their keys, in their order, and which of them are null.
import { COMMA, byteAt, endOfValue, textEnd } from './bytes';

const SPREAD: u64 = 0x9e3779b97f4a7c15;

/** Of objects whose shape is not known: each has its own. */
let unknown: u64 = 0;

export let shapeLow: u32 = 0;
export let shapeHigh: u32 = 0;

/** Of an object as this code wrote it. Its result is in the variables above. */
export function shapeOf(from: usize): void {
  let hash: u64 = SPREAD;
  let at = from;
  do {
    const key = at + 1;
    const end = textEnd(key);
    for (; at + 9 <= end; at += 8) hash = mix(hash, load<u64>(at + 1));
    let rest: u64 = 0;
    for (let last = at + 1; last < end; last++) rest = (rest << 8) | byteAt(last);
    const value = end + 1;
    // The only word that begins so is null.
    hash = mix(hash, (rest << 1) | (byteAt(value) == 0x6e ? 1 : 0));
    at = endOfValue(value);
    if (at == 0) {
      hash = mix(hash, ++unknown);
      break;
    }
  } while (byteAt(at) == COMMA);
  shapeLow = <u32>hash;
  shapeHigh = <u32>(hash >> 32);
}

function mix(hash: u64, word: u64): u64 {
  const mixed = (hash ^ word) * SPREAD;
  return mixed ^ (mixed >> 29);
}
