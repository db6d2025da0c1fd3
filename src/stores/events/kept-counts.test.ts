import { describe, expect, it } from 'vitest';
import { StoreDeniedError, type QueryParam, type StoreReader } from './eventstore.ts';
import { KeptCounts, type CountQuery } from './kept-counts.ts';

/** A part of the engine: day → number of its events, all distinct. */
interface Part {
  readonly name: string;
  readonly level: number;
  readonly days: Readonly<Record<number, number>>;
}

/** Answers like the engine, for one name and kind. `before` is called with the kind of every query. */
function engineOf(parts: Part[], before: (kind: 'list' | 'ranges' | 'plain' | 'final') => void = () => undefined) {
  const asked: string[] = [];
  const answers = {
    list: () => parts.map(({ name, level }) => ({ name, level, hash: '' })),
    ranges: () =>
      parts
        .filter(({ days }) => Object.keys(days).length > 0)
        .map(({ name, days }) => {
          const held = Object.keys(days).map(Number);
          const [first_day, last_day] = [Math.min(...held), Math.max(...held)];
          return { part: name, first_day, last_day, first_time: String(first_day), last_time: String(last_day) };
        }),
  };
  const cells = ({ days, starts }: { readonly days: readonly number[]; readonly starts: readonly number[] }) =>
    days.map((day) => ({
      span: starts.findLast((start) => start <= day),
      bucket: String(day),
      name: 'a',
      historical_migration: false,
      events: String(parts.reduce((sum, part) => sum + (part.days[day] ?? 0), 0)),
    }));
  const store: StoreReader = {
    query: async <Row>(sql: string, params: Readonly<Record<string, QueryParam>> = {}): Promise<Row[]> => {
      const kind = kindOf(sql);
      asked.push(kind);
      before(kind);
      const rows = kind === 'list' || kind === 'ranges' ? answers[kind]() : cells(params as never);
      return rows as Row[];
    },
  };
  return { store, asked };
}

function kindOf(sql: string): 'list' | 'ranges' | 'plain' | 'final' {
  if (sql.includes('system.parts')) return 'list';
  if (sql.includes('_part AS part')) return 'ranges';
  return sql.includes('FINAL') ? 'final' : 'plain';
}

const where = { sql: ['project_id = {project:Int32}'], params: { project: 1 } };
const all: CountQuery = { bucket: 'b', name: 'n', where, time: { column: 'timestamp' } };
const sum = (cells: readonly { readonly count: number }[] | undefined): number | undefined =>
  cells?.reduce((total, { count }) => total + count, 0);

describe('kept counts', () => {
  it('only rereads days whose parts have changed', async () => {
    const parts: Part[] = [
      { name: 'old', level: 1, days: { 1: 10, 2: 20 } },
      { name: 'new', level: 0, days: { 3: 5 } },
    ];
    const { store, asked } = engineOf(parts);
    const counts = new KeptCounts(store);
    expect(sum(await counts.count(all))).toBe(35);
    expect(asked).toEqual(['list', 'ranges', 'plain', 'final', 'list']);
    expect(sum(await counts.count(all))).toBe(35);
    expect(asked.slice(5)).toEqual(['list']);
    parts.push({ name: 'late', level: 0, days: { 2: 1 } });
    expect(sum(await counts.count(all))).toBe(36);
    // Day 1 is in a separate span now.
    expect(asked.slice(6)).toEqual(['list', 'ranges', 'plain', 'final', 'list']);
    expect(sum(await counts.count(all))).toBe(36);
    expect(asked.slice(11)).toEqual(['list']);
  });

  it('a part that appears while its days are counted causes a recount', async () => {
    const parts: Part[] = [{ name: 'old', level: 1, days: { 1: 10, 4: 20 } }];
    let isFirst = true;
    const { store, asked } = engineOf(parts, (kind) => {
      if (kind !== 'plain' || !isFirst) return;
      isFirst = false;
      parts.push({ name: 'copies', level: 0, days: { 2: 0, 1: 0 } });
    });
    expect(sum(await new KeptCounts(store).count(all))).toBe(30);
    expect(asked.filter((kind) => kind === 'plain' || kind === 'final')).toEqual(['plain', 'plain', 'final']);
  });

  it('parts that change at every poll are not counted by days', async () => {
    const parts: Part[] = [{ name: 'old', level: 1, days: { 1: 10 } }];
    let turn = 0;
    const { store } = engineOf(parts, (kind) => {
      if (kind === 'plain') parts[0] = { name: `merged-${++turn}`, level: 1, days: { 1: 10 } };
    });
    expect(await new KeptCounts(store).count(all)).toBeUndefined();
  });

  it('a part without rows, for which the engine returns nothing, is skipped', async () => {
    const parts: Part[] = [
      { name: 'old', level: 1, days: { 1: 10 } },
      { name: 'deleted', level: 1, days: {} },
    ];
    expect(sum(await new KeptCounts(engineOf(parts).store).count(all))).toBe(10);
  });

  it('a cluster, which has no local parts, is not counted by days', async () => {
    expect(await new KeptCounts(engineOf([]).store).count(all)).toBeUndefined();
  });

  it('a store whose user must not list parts is not counted by days; other errors are thrown', async () => {
    let failure: Error = new StoreDeniedError('expected the right to read system.parts');
    const { store } = engineOf([{ name: 'old', level: 1, days: { 1: 10 } }], (kind) => {
      if (kind === 'list') throw failure;
    });
    expect(await new KeptCounts(store).count(all)).toBeUndefined();
    failure = new Error('broken');
    await expect(new KeptCounts(store).count(all)).rejects.toThrow('broken');
  });

  it('only days cut by a time bound are read with it', async () => {
    const parts: Part[] = [
      { name: 'before', level: 1, days: { 1: 10 } },
      { name: 'cut', level: 1, days: { 2: 1, 3: 1, 4: 1 } },
      { name: 'inside', level: 1, days: { 5: 7 } },
    ];
    const { store, asked } = engineOf(parts);
    const counts = new KeptCounts(store);
    const bounded = { ...all, time: { column: 'timestamp', after: 3n } } as const;
    await counts.count(bounded);
    expect(asked).toEqual(['list', 'ranges', 'plain', 'final', 'list']);
    await counts.count(bounded);
    expect(asked.slice(5)).toEqual(['list', 'final']);
  });
});
