import { describe, expect, it } from 'vitest';
import { FormatOptionsError } from './format.ts';
import { findFormat, formats } from './registry.ts';
import { eventsOf, eventsOfExample, readAll } from '../../../test/support/format-check.ts';

describe('every format', () => {
  it('is found by its unique slug', () => {
    expect(formats.map(({ slug }) => findFormat(slug))).toEqual(formats);
    expect(new Set(formats.map(({ slug }) => slug)).size).toBe(formats.length);
    expect(formats.map(({ slug }) => slug)).toEqual(formats.map(({ slug }) => slug).toSorted());
    expect(findFormat('constructor')).toBeUndefined();
  });

  describe.each(formats.map((format) => [format.slug, format] as const))('%s', (_slug, format) => {
    it('converts the records of its example to the events of the example', () => {
      expect(format.example.events.length).toBeGreaterThan(0);
      expect(eventsOfExample(format)).toEqual(format.example.events);
    });

    it('rejects an unknown option', () => {
      expect(() => format.createReader({ ...format.example.options, nonsense: 'x' }, format.names)).toThrow(
        FormatOptionsError,
      );
    });

    it.each([null, undefined, 7, 'text', [], {}, Array.from({ length: 50 }, () => null)])(
      'has a reason for %j',
      (value) => {
        const [result] = readAll(format, [value], format.example.options);
        expect(['unreadable', 'skipped']).toContain(result?.kind);
      },
    );
  });

  const named = formats.flatMap((format) => {
    const name = format.example.events.find(({ event }) => !event.startsWith('$'))?.event;
    return name === undefined ? [] : [[format.slug, name, format] as const];
  });
  it.each(named)('%s: a name table can drop %s', (_slug, name, format) => {
    const source = Object.entries(format.names.events).find(([, after]) => after === name)?.[0] ?? name;
    const names = { ...format.names, events: { ...format.names.events, [source]: null } };
    const events = eventsOf(readAll({ ...format, names }, format.example.records, format.example.options));
    expect(events.map(({ event }) => event)).not.toContain(name);
  });
});
