const replacement = 0xfffd;
/** Arguments per call of fromCharCode. */
const unitsAtOnce = 8192;

/** Lone surrogates become U+FFFD, as everywhere. */
export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(utf8Length(text));
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    // By far the most common case.
    if (unit < 0x80) {
      bytes[length++] = unit;
      continue;
    }
    const code = codePointAt(text, at);
    if (code > 0xffff) at++;
    length = writeCodePoint(bytes, length, code);
  }
  return bytes;
}

export function utf8Length(text: string): number {
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) length += 1;
    else if (unit < 0x800) length += 2;
    else if (codePointAt(text, at) > 0xffff) {
      length += 4;
      at++;
    } else length += 3;
  }
  return length;
}

function codePointAt(text: string, at: number): number {
  const code = text.codePointAt(at) ?? replacement;
  return code >= 0xd800 && code <= 0xdfff ? replacement : code;
}

/** For characters beyond ASCII. */
function writeCodePoint(bytes: Uint8Array, at: number, code: number): number {
  const extra = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  const lead = [0, 0xc0, 0xe0, 0xf0][extra] ?? 0;
  bytes[at] = lead | (code >> (6 * extra));
  for (let left = extra - 1; left >= 0; left--) bytes[at + extra - left] = 0x80 | ((code >> (6 * left)) & 63);
  return at + extra + 1;
}

/** As in the Encoding Standard: each longest prefix of a broken sequence is one U+FFFD. A byte order mark stays. */
export function decodeUtf8(bytes: Uint8Array, fatal = false): string {
  let text = '';
  // One character may take two units.
  const units = new Uint16Array(Math.min(bytes.length, unitsAtOnce) + 1);
  let held = 0;
  for (let at = 0; at < bytes.length;) {
    const lead = bytes[at] ?? 0;
    if (lead < 0x80) {
      units[held++] = lead;
      at++;
    } else {
      const [code, width] = readCodePoint(bytes, at);
      if (code < 0 && fatal) throw new TypeError('The encoded data was not valid for encoding utf-8');
      at += width;
      held = putCodePoint(units, held, code < 0 ? replacement : code);
    }
    if (held < unitsAtOnce) continue;
    text += textOfUnits(units, held);
    held = 0;
  }
  return text + textOfUnits(units, held);
}

function textOfUnits(units: Uint16Array, length: number): string {
  return String.fromCharCode(...units.subarray(0, length));
}

function putCodePoint(units: Uint16Array, at: number, code: number): number {
  if (code < 0x10000) {
    units[at] = code;
    return at + 1;
  }
  units[at] = 0xd800 + ((code - 0x10000) >> 10);
  units[at + 1] = 0xdc00 + ((code - 0x10000) & 0x3ff);
  return at + 2;
}

/** For characters beyond ASCII: returns the code point (-1 if broken) and its number of bytes. */
function readCodePoint(bytes: Uint8Array, at: number): readonly [code: number, width: number] {
  const lead = bytes[at] ?? 0;
  if (lead < 0xc2 || lead > 0xf4) return [-1, 1];
  const extra = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
  let code = lead & (0x3f >> extra);
  for (let nth = 1; nth <= extra; nth++) {
    const byte = bytes[at + nth] ?? 0;
    const [low, high] = nth === 1 ? secondByteRange(lead) : [0x80, 0xbf];
    if (byte < low || byte > high) return [-1, nth];
    code = (code << 6) | (byte & 63);
  }
  return [code, extra + 1];
}

/** Excludes overlong forms, surrogates and everything beyond U+10FFFF. */
function secondByteRange(lead: number): readonly [low: number, high: number] {
  if (lead === 0xe0) return [0xa0, 0xbf];
  if (lead === 0xed) return [0x80, 0x9f];
  if (lead === 0xf0) return [0x90, 0xbf];
  if (lead === 0xf4) return [0x80, 0x8f];
  return [0x80, 0xbf];
}
