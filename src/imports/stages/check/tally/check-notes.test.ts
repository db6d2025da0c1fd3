import { describe, expect, it } from 'vitest';
import { checkTest } from '../../../../../test/support/check-stage.ts';
import type { FormatOptions } from '../../../formats/format.ts';
import { recordNotes } from '../../../formats/record-notes.ts';
import { formats } from '../../../formats/registry.ts';

const at = 1_714_558_830;
const visit = (idVisit: number, more: object): string =>
  JSON.stringify({
    idSite: 1,
    idVisit,
    visitorId: `v${idVisit}`,
    firstActionTimestamp: at,
    actionDetails: [{ type: 'action', url: 'https://a.example/', pageId: '1', timestamp: at + 7200 }],
    ...more,
  });

describe('what a source reports as missing', () => {
  it('truncated visits are a finding with figures, summed up over parts and segments', async () => {
    await using test = await checkTest({ format: 'matomo' });
    await test.stage('first', [visit(1, { truncatedActionsCount: 699 }), visit(2, {})], 1);
    await test.stage('second', [visit(3, { truncatedActionsCount: '2' })], 1);
    const { notes = [], warnings, totals } = await test.check();
    const truncated = notes.find(({ of }) => of === 'matomo_actions_truncated');
    expect(truncated).toMatchObject({ kind: 'incomplete', count: 2, amount: 701, samples: ['1', '3'] });
    expect(truncated?.detail).toContain('The export is incomplete: 2 visits lack 701 of their actions (idVisit 1, 3)');
    expect(warnings).toContain(truncated?.detail);
    expect(notes.find(({ of }) => of === 'matomo_clock_derived')).toMatchObject({ count: 3, samples: ['UTC+02:00'] });
    expect(totals).toMatchObject({ records: 3, converted: 3, rejected: 0 });
  });

  it('a Mixpanel export that ended early is incomplete, but no record is rejected for it', async () => {
    await using test = await checkTest({ format: 'mixpanel' });
    const event = (id: string): string =>
      JSON.stringify({ event: 'a', properties: { time: at, distinct_id: 'u', $insert_id: id } });
    await test.stage('in.jsonl', [event('1'), event('2'), 'export terminated early'], 10);
    const { verdict, notes, totals } = await test.check();
    expect(verdict).toBe('passed');
    expect(notes).toMatchObject([
      { of: 'mixpanel_terminated_early', kind: 'incomplete', samples: ['in.jsonl, line 3'] },
    ]);
    expect(totals).toMatchObject({ records: 3, converted: 2, rejected: 0 });
    expect(Object.values(totals.skipped)).toEqual([1]);
  });

  it('times of Mixpanel before 2023 are a finding unless a zone is given', async () => {
    const lines = ['2022-12-30', '2022-12-31', '2023-01-01'].map((day) =>
      JSON.stringify({
        event: 'a',
        properties: { time: Date.parse(`${day}T10:00:00Z`) / 1000, distinct_id: 'u', $insert_id: day },
      }),
    );
    const notesOf = async (some: readonly string[], formatOptions: FormatOptions = {}) => {
      await using test = await checkTest({ format: 'mixpanel', formatOptions });
      await test.stage('in.jsonl', some, 10);
      const { notes = [], warnings } = await test.check();
      expect(warnings).toEqual(expect.arrayContaining(notes.map(({ detail }) => detail)));
      return notes;
    };
    const found = { of: 'mixpanel_zone_assumed', kind: 'assumed', count: 2, samples: ['2022-12-30'] };
    expect(await notesOf(lines)).toMatchObject([found]);
    expect(await notesOf(lines.slice(2))).toEqual([]);
    expect(await notesOf(lines, { time_zone: 'Europe/Berlin' })).toEqual([]);
  });
});

describe('the list of notes', () => {
  it.each(Object.entries(recordNotes))('%s has evidence and names existing formats', (_code, note) => {
    expect(note.evidence).toMatch(/^https:\/\/\S+$/);
    const slugs = new Set(formats.map(({ slug }) => slug));
    expect(note.formats === 'all' || note.formats.every((slug) => slugs.has(slug))).toBe(true);
    const detail = note.detail({ count: 2, amount: 3, samples: ['a', 'b'] });
    expect(detail).toMatch(/\.$/);
    expect(detail.startsWith('The export is incomplete: ')).toBe(note.kind === 'incomplete');
  });
});
