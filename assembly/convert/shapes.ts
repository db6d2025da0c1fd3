// What objects have in common that say something of the same properties: their keys, in their order, and which of them are null.
import { COMMA, byteAt, endOfValue, mixed, textEnd } from './bytes';

/** Of objects whose shape is not known: each has its own. */
let unknown: u64 = 0;

export let shapeLow: u32 = 0;
export let shapeHigh: u32 = 0;

/** Of an object as this code wrote it. Its result is in the variables above. */
export function shapeOf(from: usize): void {
  let hash: u64 = 1;
  let at = from;
  do {
    const key = at + 1;
    const end = textEnd(key);
    for (; at + 9 <= end; at += 8) hash = mixed(hash ^ load<u64>(at + 1));
    let rest: u64 = 0;
    for (let last = at + 1; last < end; last++) rest = (rest << 8) | byteAt(last);
    const value = end + 1;
    // The only word that begins so is null.
    hash = mixed(hash ^ ((rest << 1) | (byteAt(value) == 0x6e ? 1 : 0)));
    at = endOfValue(value);
    if (at == 0) {
      hash = mixed(hash ^ ++unknown);
      break;
    }
  } while (byteAt(at) == COMMA);
  shapeLow = <u32>hash;
  shapeHigh = <u32>(hash >> 32);
}
