import { describe, expect, it } from 'vitest';
import { parseExact } from '../../api/exact-json.ts';
import { foundNames, selectionOf, withName } from './found-names.ts';
import type { Preview } from './imports-query.ts';

function previewOf(events: readonly { event: string; properties: Record<string, unknown> }[]): Preview {
  // The fields that are read.
  return { results: events.map((event) => ({ events: [{ event }] })) } as unknown as Preview;
}

describe('the names found in a preview', () => {
  it('are counted, the most frequent first, with a value as an example', () => {
    const found = foundNames(
      previewOf([
        { event: 'buy', properties: { plan: 'pro', total: 12 } },
        { event: 'visit', properties: { total: { gross: 3 } } },
        { event: 'visit', properties: { plan: 'x'.repeat(100) } },
      ]),
    );
    expect(found.total).toBe(3);
    expect(found.events.map(({ name, count }) => [name, count])).toEqual([
      ['visit', 2],
      ['buy', 1],
    ]);
    expect(found.properties).toEqual([
      { name: 'plan', count: 2, example: 'pro' },
      { name: 'total', count: 2, example: '12' },
    ]);
    expect(foundNames(undefined)).toEqual({ total: 0, events: [], properties: [] });
  });

  it('have an integer beyond 2^53 with all digits as an example', () => {
    const properties = parseExact('{"order": 9007199254740993123}') as Record<string, unknown>;
    const [found] = foundNames(previewOf([{ event: 'buy', properties }])).properties;
    expect(found?.example).toBe('9007199254740993123');
  });

  it('are imported unless a list or a pattern excludes them', () => {
    expect(selectionOf('$ip', {})).toBe('imported');
    expect(selectionOf('$ip', { except: ['$ip'] })).toBe('excluded');
    expect(selectionOf('$ip', { except: ['$*'] })).toBe('pattern');
    expect(selectionOf('a.b', { except: ['a?b'] })).toBe('imported');
    expect(selectionOf('plan', { only: ['pl*'] })).toBe('imported');
    expect(selectionOf('total', { only: ['pl*'] })).toBe('pattern');
  });

  it('are excluded and imported again without changing other entries', () => {
    const lists = { only: ['a*'], except: ['ab'] };
    const without = withName(lists, 'ac', false);
    expect(without).toEqual({ only: ['a*'], except: ['ab', 'ac'] });
    expect(withName(without, 'ac', true)).toEqual(lists);
  });
});
