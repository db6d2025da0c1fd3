// Decodes JSON strings.
import { BACKSLASH, QUOTE, byteAt } from './bytes';

let written: usize = 0;

/** Returns the end of the last decoded text. */
export function unescapedEnd(): usize {
  return written;
}

/**
 * Decodes the text at `from` to `to`, below `limit`. Returns the end of the text; 0 if it has other escapes than those of one letter,
 * no end, or is too long.
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

/** Returns the character of a letter after a backslash; 0 for escapes that are not handled here. */
function meaningOfEscape(letter: u32): u32 {
  if (letter == QUOTE || letter == BACKSLASH || letter == 0x2f) return letter;
  if (letter == 0x62) return 0x08; // b
  if (letter == 0x66) return 0x0c; // f
  if (letter == 0x6e) return 0x0a; // n
  if (letter == 0x72) return 0x0d; // r
  return letter == 0x74 ? 0x09 : 0; // t
}
