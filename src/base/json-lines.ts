const newline = 0x0a;
const comma = 0x2c;
const openArray = 0x5b;
const closeArray = 0x5d;

/** Converts JSON values, one per line, to a JSON array in newly allocated memory. */
export function arrayOfLines(lines: Uint8Array): Buffer<ArrayBuffer> {
  const end = lines.at(-1) === newline ? lines.length - 1 : lines.length;
  const array = Buffer.allocUnsafeSlow(end + 2);
  array[0] = openArray;
  array.set(lines.subarray(0, end), 1);
  array[end + 1] = closeArray;
  commasForNewlines(array);
  return array;
}

/** Works in place: JSON on one line contains no newline. */
export function commasForNewlines(json: Buffer): void {
  for (let at = json.indexOf(newline); at >= 0; at = json.indexOf(newline, at + 1)) json[at] = comma;
}
