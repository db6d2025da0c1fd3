import type { Draw } from '../draw.ts';

/** JSON as a source writes it, and as it is stored: the same value, in canonical form. */
export type Probe = readonly [written: string, stored: string];

const forty = '1234567890123456789012345678901234567890';
const probes: readonly Probe[] = [
  ['1234567890123456789', '1234567890123456789'],
  [`-${forty}`, `-${forty}`],
  [forty, forty],
  ['0.1000000000000000055511151231257827', '0.1000000000000000055511151231257827'],
  ['1.50', '1.5'],
  ['100.00', '100'],
  ['9007199254740993', '9007199254740993'],
  ['"\\ud83d"', '"\\ud83d"'],
  ['"a\\u0000b"', '"a\\u0000b"'],
  ['"tab\\there"', '"tab\\there"'],
  ['"line\\nbreak"', '"line\\nbreak"'],
  ['[]', '[]'],
  ['{"deep":{"deeper":[1234567890123456789,{"x":"é"}]}}', '{"deep":{"deeper":[1234567890123456789,{"x":"é"}]}}'],
];

/** One in three is dirty; the others are small numbers. */
export function drawProbe(draw: Draw, n: number): Probe {
  return draw.chance(0.33) ? draw.pick(probes) : [String(n), String(n)];
}

/** Ids that identify no person. */
export const nobodies: readonly string[] = ['null', 'undefined', 'NONE', 'anonymous', 'Guest', 'n/a', 'unknown', 'nil'];

/** Of events: plain ones, spaces, other scripts, half of a pair, the longest that is stored. `[written as JSON, stored]`. */
export const eventNames: readonly Probe[] = [
  ['"Order Done"', 'Order Done'],
  ['"Page Seen"', 'Page Seen'],
  ['"Заказ оформлен"', 'Заказ оформлен'],
  ['"  spaced  "', '  spaced  '],
  ['"half \\ud83d"', 'half \ufffd'],
  [`"${'n'.repeat(200)}"`, 'n'.repeat(200)],
];

export const tooLongName = 'n'.repeat(201);

/** Nested deeper than any event may be, and from 81 levels on deeper than a record, whose links are then not known either. */
export function deep(levels: number): string {
  return `${'['.repeat(levels)}1${']'.repeat(levels)}`;
}

/** Many keys, though fewer than an event may have. */
export function wide(keys: number): string {
  return `{${Array.from({ length: keys }, (_, key) => `"k${key}":${key}`).join(',')}}`;
}

/** A UUID in any of its spellings. */
export function spelled(draw: Draw, uuid: string): string {
  return draw.pick([uuid, uuid, uuid.toUpperCase(), uuid.replaceAll('-', ''), `urn:uuid:${uuid}`, `{${uuid}}`]);
}

/** An id as JSON: ids of digits come as text and as numbers, and no id as null. */
export function idJson(draw: Draw, id: string | undefined): string {
  if (id === undefined) return 'null';
  return /^[1-9]\d*$/.test(id) && draw.chance(0.5) ? id : JSON.stringify(id);
}
