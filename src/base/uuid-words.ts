/** Positions of the eight digits of each word, without dashes. */
const places = [
  [0, 1, 2, 3, 4, 5, 6, 7],
  [9, 10, 11, 12, 14, 15, 16, 17],
  [19, 20, 21, 22, 24, 25, 26, 27],
  [28, 29, 30, 31, 32, 33, 34, 35],
].map((word) => Uint8Array.from(word));
const digitValues = new Uint8Array(128);
for (let value = 0; value < 16; value += 1) {
  digitValues[value.toString(16).charCodeAt(0)] = value;
  digitValues[value.toString(16).toUpperCase().charCodeAt(0)] = value;
}

/** Reads a UUID of 36 characters in either case into the first four `words`, most significant first. */
export function readUuidWords(uuid: string, words: Uint32Array): void {
  for (let index = 0; index < 4; index += 1) {
    const at = places[index] as Uint8Array;
    let word = 0;
    for (let digit = 0; digit < 8; digit += 1) {
      word = (word << 4) | (digitValues[uuid.charCodeAt(at[digit] as number) & 0x7f] as number);
    }
    words[index] = word;
  }
}
