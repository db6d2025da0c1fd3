import { addToChecksum } from '../../src/imports/records/bzip2/unbzip2-chunks.ts';

/** For tests: bytes as a bzip2 stream of one block; for small ones, as it sorts them in the plainest way. */
export function packBzip2(bytes: Buffer): Buffer {
  if (bytes.length > 100_000) throw new Error(`expected at most 100000 bytes, got ${bytes.length}`);
  const bits: string[] = [bitsOf(0x425a68, 24), bitsOf(0x31, 8)];
  const sum = ~addToChecksum(-1, bytes) >>> 0;
  if (bytes.length > 0) bits.push(bitsOf(0x314159, 24), bitsOf(0x265359, 24), bitsOf(sum, 32), blockOf(bytes));
  bits.push(bitsOf(0x177245, 24), bitsOf(0x385090, 24), bitsOf(bytes.length > 0 ? sum : 0, 32));
  const all = bits.join('');
  const octets = all.padEnd(Math.ceil(all.length / 8) * 8, '0').match(/.{8}/g) ?? [];
  return Buffer.from(octets.map((octet) => parseInt(octet, 2)));
}

function blockOf(bytes: Buffer): string {
  const { last, origin } = sortRotations(shortenRuns(bytes));
  const alphabet = [...new Set(last)].toSorted((a, b) => a - b);
  const symbols = symbolsOf(last, alphabet);
  const codeBits = Math.ceil(Math.log2(alphabet.length + 2));
  const groups = Math.ceil(symbols.length / 50);
  const table = bitsOf(codeBits, 5) + '0'.repeat(alphabet.length + 2);
  return [
    '0',
    bitsOf(origin, 24),
    alphabetBits(alphabet),
    bitsOf(2, 3),
    bitsOf(groups, 15),
    '0'.repeat(groups),
    table.repeat(2),
    ...symbols.map((symbol) => bitsOf(symbol, codeBits)),
  ].join('');
}

/** Four equal bytes are followed by how many more there are. */
function shortenRuns(bytes: Buffer): Buffer {
  const found: number[] = [];
  for (let at = 0; at < bytes.length;) {
    const byte = bytes[at] ?? 0;
    let run = 1;
    while (run < 259 && bytes[at + run] === byte) run += 1;
    found.push(...Array.from({ length: Math.min(run, 4) }, () => byte), ...(run >= 4 ? [run - 4] : []));
    at += run;
  }
  return Buffer.from(found);
}

function sortRotations(bytes: Buffer): { last: number[]; origin: number } {
  const twice = Buffer.concat([bytes, bytes]);
  const rotation = (start: number): Buffer => twice.subarray(start, start + bytes.length);
  const starts = Array.from(bytes.keys()).toSorted((a, b) => Buffer.compare(rotation(a), rotation(b)));
  return { last: starts.map((start) => rotation(start).at(-1) ?? 0), origin: starts.indexOf(0) };
}

/** Places in a list whose last used entry comes to its front; places of zero as a number with the digits 1 and 2. */
function symbolsOf(last: readonly number[], alphabet: readonly number[]): number[] {
  const recent = [...alphabet];
  const symbols: number[] = [];
  let zeros = 0;
  const endRun = (): void => {
    for (; zeros > 0; zeros = (zeros - 1) >> 1) symbols.push((zeros - 1) & 1);
  };
  for (const byte of last) {
    const place = recent.indexOf(byte);
    if (place === 0) {
      zeros += 1;
      continue;
    }
    endRun();
    symbols.push(place + 1);
    recent.unshift(...recent.splice(place, 1));
  }
  endRun();
  return [...symbols, alphabet.length + 1];
}

function alphabetBits(alphabet: readonly number[]): string {
  const used = new Set(alphabet);
  const rows = Array.from({ length: 16 }, (_, row) =>
    Array.from({ length: 16 }, (_cell, index) => (used.has(row * 16 + index) ? '1' : '0')).join(''),
  );
  return [rows.map((row) => (row.includes('1') ? '1' : '0')).join(''), ...rows.filter((row) => row.includes('1'))].join(
    '',
  );
}

function bitsOf(value: number, count: number): string {
  return value.toString(2).padStart(count, '0').slice(-count);
}
