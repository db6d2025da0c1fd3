import { expect, it } from 'vitest';
import { isObject } from '../../base/json.ts';
import { formats } from './registry.ts';
import { readAll } from '../../../test/support/format-check.ts';

const isTime = (name: string): boolean => /time|tstamp|date|seen|created|inserted|(_a|A)t$/.test(name);

/** The same record with every time replaced. */
function withTimes(record: unknown, time: unknown): unknown {
  if (!isObject(record)) return record;
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [name, isTime(name) ? time : withTimes(value, time)]),
  );
}

it.each(formats.map((format) => [format.slug, format] as const))(
  '%s: a record without a time that can be read says what came instead',
  (_slug, format) => {
    const { records, options } = format.example;
    const reasons = [null, 'soon', '', -1, {}].flatMap((time) =>
      readAll(
        format,
        records.map((record) => withTimes(record, time)),
        options,
      ).flatMap((result) => (result.kind === 'unreadable' ? [result.reason] : [])),
    );
    const ofTimes = reasons.filter((reason) => /^expected (a )?time/.test(reason));
    expect(ofTimes.filter((reason) => !reason.includes(', got '))).toEqual([]);
  },
);
