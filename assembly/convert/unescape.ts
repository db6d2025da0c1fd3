// What a text of JSON says.
import { BACKSLASH, QUOTE, byteAt } from './bytes';

let written: usize = 0;

/** Where what the last text says ends. */
export function unescapedEnd(): usize {
  return written;
}

/**
 * Writes what the text at `from` says to `to` and on, not as far as `limit`. Gives where the text ends; 0: it has other escapes than
 * those of one letter, or no end, or says too much.
 */
export function unescapeText(from: usize, to: usize, limit: usize): usize {
  let at = from + 1;
  written = to;
  while (written < limit) {
    const byte = byteAt(at);
    if (byte == QUOTE) return at + 1;
    if (byte < 0x20) return 0;
    const means = byte == BACKSLASH ? meaningOfEscape(byteAt(at + 1)) : byte;
    if (means == 0) return 0;
    store<u8>(written++, means);
    at += byte == BACKSLASH ? 2 : 1;
  }
  return 0;
}

/** What a letter behind a backslash stands for; 0: that is not for here. */
function meaningOfEscape(letter: u32): u32 {
  if (letter == QUOTE || letter == BACKSLASH || letter == 0x2f) return letter;
  if (letter == 0x62) return 0x08; // b
  if (letter == 0x66) return 0x0c; // f
  if (letter == 0x6e) return 0x0a; // n
  if (letter == 0x72) return 0x0d; // r
  return letter == 0x74 ? 0x09 : 0; // t
}
