// The shape of an object: a hash of its keys in their order, and of which values are null.
import { COMMA, byteAt, endOfValue, mixed, textEnd } from './bytes';

/** Counts objects whose shape could not be determined; each of them gets a separate shape. */
let unknown: u64 = 0;

export let shapeLow: u32 = 0;
export let shapeHigh: u32 = 0;

/** Hashes the object that begins at `from`, as this code wrote it, into the variables above. */
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
    // The only word with this first letter is null.
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
