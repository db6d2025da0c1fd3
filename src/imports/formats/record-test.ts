import type { Format, RecordReader } from './format.ts';

/**
 * Whether a record may be one of the format: it can be read, or at least half of its keys are those of the format's own
 * records, so that it is a broken one. Texts and numbers that cannot be read are none.
 */
export function createRecordTest({ example }: Format, read: RecordReader): (record: unknown) => boolean {
  const known = new Set(example.records.flatMap(keysOf));
  return (record) => {
    const keys = keysOf(record);
    return (
      isReadable(read, record) || (keys.length > 0 && keys.filter((key) => known.has(key)).length * 2 >= keys.length)
    );
  };
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
