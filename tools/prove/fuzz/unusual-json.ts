import type { Draw } from '../../../test/support/draw.ts';

/** JSON as text, so that it can hold what no value of JavaScript can: long numbers, names twice, lone surrogates. */

const oddNumbers = [
  '0',
  '-0',
  '-1',
  '1.5',
  '1e999',
  '-1e999',
  '1e-400',
  '9007199254740993',
  '18446744073709551616',
  '-9223372036854775809',
  '123456789012345678901234567890',
  '0.1000000000000000055511151231257827',
  '1E+2',
  '253402300800000',
  '1e15',
  '4294967296',
];
const oddStrings = [
  '""',
  '" "',
  '"null"',
  '"0"',
  '"\\u0000"',
  '"a\\u0000b"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\u202e"',
  '"é"',
  '"😀"',
  '"\\n\\nDROP TABLE events; --"',
  '"\\t\\\\N\\t\'\\""',
  '"\' OR 1=1 --"',
  '"${x}{{y}}"',
  '"../../../etc/passwd"',
  '"%00"',
  '"[object Object]"',
  '"2026-02-30T25:61:61Z"',
  '"9999-12-31T23:59:59+99:00"',
  '"1970-01-01"',
  '"-1"',
  '"1e3"',
  '"true"',
];
const oddNames = [
  '"__proto__"',
  '"constructor"',
  '"prototype"',
  '"toString"',
  '"hasOwnProperty"',
  '""',
  '"$set"',
  '"$unset"',
  '"$set_once"',
  '"distinct_id"',
  '"event"',
  '"uuid"',
  '"timestamp"',
  '"properties"',
  '"token"',
  '"api_key"',
  '"$groups"',
  '"a.b"',
  '"\\u0000"',
];
const notJson = [
  'NaN',
  'Infinity',
  'undefined',
  "'a'",
  '01',
  '.5',
  '+1',
  '"\\x"',
  '"\n"',
  '{,}',
  '[1,]',
  '',
  '/**/1',
  '{"a"}',
  '"',
];

/** A value of at most about `depth` levels. */
export function unusualJson(draw: Draw, depth = 3): string {
  const kind = draw.int(depth > 0 ? 14 : 9);
  if (kind < 3) return draw.pick(oddNumbers);
  if (kind < 7) return draw.pick(oddStrings);
  if (kind === 7) return draw.pick(['null', 'true', 'false']);
  if (kind === 8) return draw.chance(0.15) ? JSON.stringify('x'.repeat(draw.int(3000))) : `"${draw.hex(draw.int(12))}"`;
  const inner = Array.from({ length: draw.int(4) }, () => unusualJson(draw, depth - 1));
  if (kind < 11) return `[${inner.join(',')}]`;
  return `{${inner.map((value) => `${draw.pick(oddNames)}:${value}`).join(',')}}`;
}

/** What is no JSON, or JSON that is too deep, too wide or too large for an event. */
export function hostileJson(draw: Draw): string {
  switch (draw.int(6)) {
    case 0:
      return draw.pick(notJson);
    case 1:
      return nested(draw.pick([63, 64, 65, 200, 5000, 60_000]));
    case 2:
      return '['.repeat(draw.pick([10, 100, 20_000]));
    case 3:
      return `{${Array.from({ length: draw.pick([100, 12_000]) }, (_, n) => `"k${n}":1`).join(',')}}`;
    case 4:
      return `"${'x'.repeat(draw.pick([1000, 60_000, 150_000]))}"`;
    default:
      return `${'9'.repeat(draw.pick([20, 400, 5000]))}.${'1'.repeat(draw.int(400))}e${draw.int(5000)}`;
  }
}

function nested(depth: number): string {
  return '['.repeat(depth) + ']'.repeat(depth);
}

/** Returns the bytes with some of them changed, removed, added or repeated. */
export function damaged(draw: Draw, bytes: Buffer): Buffer {
  let left = Buffer.from(bytes);
  for (let change = draw.int(4); change >= 0 && left.length > 0; change -= 1) {
    const at = draw.int(left.length);
    const kind = draw.int(5);
    if (kind < 2) left.writeUInt8(kind === 0 ? draw.int(256) : draw.pick([0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x2c, 0]), at);
    else if (kind === 2) left = left.subarray(0, at);
    else if (kind === 3) left = Buffer.concat([left.subarray(0, at), left.subarray(at + 1 + draw.int(8))]);
    else
      left = Buffer.concat([
        left.subarray(0, at),
        left.subarray(Math.max(0, at - draw.int(40)), at),
        left.subarray(at),
      ]);
  }
  return left;
}
