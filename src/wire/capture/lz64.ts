/**
 * Decoder of the LZ variant that old browser libraries send (lz-string's base64 form). The reference decoder cannot be
 * stopped: a few hundred kilobytes can unfold to gigabytes. Here every phrase is a piece of the output so far, so a phrase
 * costs eight bytes, and the output stops at its limit.
 *
 * Format: codes of growing width, least significant bit first. 0 and 1 introduce a new character of 8 or 16 bits, 2 ends
 * the text, 3 and above name a phrase. Each step adds a phrase: the one before plus the first character of this one.
 */
export class LzError extends Error {
  override name = 'LzError';
  readonly tooLarge: boolean;
  constructor(message: string, tooLarge = false) {
    super(message);
    this.tooLarge = tooLarge;
  }
}

/** Work on a body ends here: these libraries send a page's events, a few kilobytes. */
export const lz64BytesMax = 512 * 1024;
export const lz64CharsMax = 2 * 1024 * 1024;

const newByte = 0;
const newUnit = 1;
const endOfText = 2;
const firstPhrase = 3;

/** Text from its base64 form. Throws LzError when it is damaged or longer than `charsMax` UTF-16 units. */
export function decompressLz64(base64: Buffer, charsMax: number): string {
  const bits = bitReader(base64);
  const output = new Output(charsMax);
  // starts[i], lengths[i]: where in the output phrase number firstPhrase + i stands.
  const starts: number[] = [];
  const lengths: number[] = [];
  let width = 2;
  let previousStart = 0;
  let previousLength = 0;
  for (;;) {
    const code = bits(width);
    if (code === endOfText) return output.text();
    const start = output.length;
    if (code === newByte || code === newUnit) {
      output.add(bits(code === newByte ? 8 : 16));
      starts.push(start);
      lengths.push(1);
    } else appendPhrase(output, code - firstPhrase, starts, lengths, previousStart, previousLength);
    if (previousLength > 0) {
      // The phrase before and the first character of this one stand side by side in the output.
      starts.push(previousStart);
      lengths.push(previousLength + 1);
    }
    previousStart = start;
    previousLength = output.length - start;
    width = widthFor(starts.length);
  }
}

function appendPhrase(
  output: Output,
  phrase: number,
  starts: readonly number[],
  lengths: readonly number[],
  previousStart: number,
  previousLength: number,
): void {
  const start = starts[phrase];
  const length = lengths[phrase];
  if (start !== undefined && length !== undefined) return output.copy(start, length);
  // The one phrase that may be named before it is complete: the phrase before plus its own first character.
  if (phrase !== starts.length || previousLength === 0) throw new LzError('a code names an unknown phrase');
  output.copy(previousStart, previousLength);
  output.copy(previousStart, 1);
}

/** Bits of the next code when `phrases` are known: enough for the phrase that is just being made too. */
function widthFor(phrases: number): number {
  return 32 - Math.clz32(phrases + firstPhrase);
}

class Output {
  length = 0;
  #units = new Uint16Array(1024);
  readonly #max: number;
  constructor(max: number) {
    this.#max = max;
  }
  add(unit: number): void {
    this.#reserve(1);
    this.#units[this.length++] = unit;
  }
  copy(start: number, length: number): void {
    this.#reserve(length);
    this.#units.copyWithin(this.length, start, start + length);
    this.length += length;
  }
  text(): string {
    return Buffer.from(this.#units.buffer, 0, this.length * 2).toString('utf16le');
  }
  #reserve(more: number): void {
    const needed = this.length + more;
    if (needed > this.#max) throw new LzError(`more than ${this.#max} characters`, true);
    if (needed <= this.#units.length) return;
    const larger = new Uint16Array(Math.min(this.#max, Math.max(needed, this.#units.length * 2)));
    larger.set(this.#units.subarray(0, this.length));
    this.#units = larger;
  }
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
/** The six bits of each character, the first of them lowest: they come highest first, and codes are read from the lowest. */
const sextets = new Int8Array(256).fill(-1);
for (let i = 0; i < alphabet.length; i++) sextets[alphabet.charCodeAt(i)] = reversed(i);

function reversed(sextet: number): number {
  let bits = 0;
  for (let i = 0; i < 6; i++) bits |= ((sextet >>> i) & 1) << (5 - i);
  return bits;
}

/** Reads numbers of up to 24 bits whose first bit is the least significant one. */
function bitReader(base64: Buffer): (count: number) => number {
  let at = 0;
  let held = 0;
  let bits = 0;
  return (count) => {
    while (held < count) {
      const sextet = sextets[base64[at++] ?? 0] ?? -1;
      if (sextet < 0) throw new LzError('the text ends too early or is not base64');
      bits |= sextet << held;
      held += 6;
    }
    const value = bits & ((1 << count) - 1);
    bits >>>= count;
    held -= count;
    return value;
  };
}
