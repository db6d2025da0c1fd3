const quote = 0x22;
const backslash = 0x5c;
const space = 0x20;
const short: Readonly<Record<number, string>> = { 8: '\\b', 9: '\\t', 10: '\\n', 12: '\\f', 13: '\\r' };

/**
 * JSON as one line without control characters: those within strings, which JSON does not allow, are escaped, so that their values
 * are kept; those between tokens become spaces. Changes the record in place, and gives it back unless it has to grow.
 */
export function escapeControls(record: Buffer): Buffer {
  const found: number[] = [];
  let inString = false;
  for (let at = 0; at < record.length; at += 1) {
    const byte = record[at] as number;
    if (byte < space) {
      if (inString) found.push(at);
      else record[at] = space;
    } else if (byte === quote) inString = !inString;
    // What is escaped is passed over; a line break is not to be escaped so, and makes it no JSON.
    else if (byte === backslash && inString) {
      at += 1;
      if ((record[at] ?? space) < space) record[at] = space;
    }
  }
  return found.length === 0 ? record : escapeAt(record, found);
}

function escapeAt(record: Buffer, places: readonly number[]): Buffer {
  const parts: Buffer[] = [];
  let from = 0;
  for (const at of places) {
    const byte = record[at] as number;
    parts.push(record.subarray(from, at), Buffer.from(short[byte] ?? `\\u00${byte.toString(16).padStart(2, '0')}`));
    from = at + 1;
  }
  return Buffer.concat([...parts, record.subarray(from)]);
}
