import { objectIn } from '../../base/json.ts';
import type { Format, FormatOptions, RecordReader } from './format.ts';

/**
 * Whether a record may be one of the format: it can be read, or it is a broken one. That is one with half of the keys of the format's own
 * records, or one of whose keys half are theirs: exports have more columns than an example shows, broken records fewer. Texts and
 * numbers that cannot be parsed are not records.
 */
export function createRecordTest(
  { example }: Format,
  read: RecordReader,
  { mapping }: FormatOptions = {},
): (record: unknown) => boolean {
  const records = mapping === undefined ? example.records.map(keysOf) : [keysIn(mapping)];
  const known = new Set(records.flat());
  const fewest = Math.min(...records.map((keys) => keys.length));
  return (record) => {
    const keys = keysOf(record);
    const own = keys.filter((key) => known.has(key)).length;
    return isReadable(read, record) || (own > 0 && own * 2 >= Math.min(keys.length, fewest));
  };
}

/** Every word in the texts of the rules: columns, steps of paths, names in templates. */
function keysIn(mapping: string): string[] {
  const words = new Set<string>();
  const add = (value: unknown): void => {
    if (typeof value === 'string') for (const word of value.split(/[.{}[\]]/)) words.add(word);
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(add);
  };
  add(objectIn(mapping));
  return [...words].filter((word) => word !== '');
}

function keysOf(record: unknown): string[] {
  return typeof record === 'object' && record !== null ? Object.keys(record) : [];
}

function isReadable(read: RecordReader, record: unknown): boolean {
  try {
    return read(record).kind !== 'unreadable';
  } catch {
    // The check says what is wrong with it.
    return true;
  }
}
