import { describe, expect, it } from 'vitest';
import type { StoredDay } from '../../run/import-day.ts';
import type { Run } from '../../run/run.ts';
import { buildReport, type ReportSources } from './build-report.ts';
import { reportPage } from './report-page.ts';
import type { ReportResult } from './report.ts';
import { exactSources } from './report-sources.fixture.ts';
import { timeBins } from './time-bins.ts';

const small = exactSources({ days: 10, names: 8 });

function changed(change: (sources: ReportSources) => Partial<ReportSources>): ReportSources {
  return { ...small, ...change(small) };
}

describe('the report of a run', () => {
  it('is exact if every sum agrees and the store has what was loaded', () => {
    const report = buildReport(small);
    expect(report.balance.filter(({ holds }) => !holds)).toEqual([]);
    expect(report.balance).toHaveLength(7);
    expect(report.verdict).toBe('exact');
    const { records, events } = report.totals;
    expect(records.read).toBe(records.converted + records.skipped + records.rejected);
    expect(events.converted).toBe(events.loaded + events.duplicates + events.rejected);
    expect(events.verified).toBe(events.loaded);
    expect(report.days.reduce((total, day) => total + day.loaded, 0)).toBe(events.loaded);
    expect(report.events.reduce((total, line) => total + line.loaded, 0)).toBe(events.loaded);
  });

  it('counts events that have expired since as that, and not as missing', () => {
    const { verify } = small;
    const report = buildReport({
      ...small,
      verify: verify && { ...verify, found: verify.found - 1234, expired: 1234 },
    });
    expect(report.balance.filter(({ holds }) => !holds)).toEqual([]);
    expect(report).toMatchObject({ verdict: 'exact', totals: { events: { expired: 1234 } } });
    expect(report.summary).toMatch(/loaded events that have not expired, .* Expired since: 1,234 events/);
    expect(reportPage(report)).toContain('all that has not expired; 1,234 expired');
  });

  it('shows a day whose events have expired without a difference, by day, by name and as a sum', () => {
    const { verify, check } = small;
    const [day = '', counts = {}] = Object.entries(check?.days ?? {})[1] ?? [];
    const [[event, count] = ['', 0]] = Object.entries(counts);
    const cell = { day, event, expected: count, found: 0, expired: count };
    const report = buildReport({
      ...small,
      verify: verify && { ...verify, found: verify.found - count, expired: count, cells: [cell] },
    });
    const line = report.days.find((each) => each.day === day);
    expect(line).toMatchObject({ expired: count, verified: (line?.loaded ?? 0) - count });
    expect(report.events.find((each) => each.event === event)).toMatchObject({ expired: count });
    const column = report.cells.events.indexOf(event);
    expect(report.cells.rows.find((each) => each.day === day)?.counts[column]).toEqual([count, count, 0, count]);
    const page = reportPage(report);
    expect(page.includes('Expired since')).toBe(true);
    expect(page.includes('class="off"')).toBe(false);
    expect(reportPage(buildReport(small)).includes('Expired since')).toBe(false);
  });

  it('states that nothing is left to compare if every event has expired', () => {
    const { verify, run } = small;
    const loaded = verify?.expected ?? 0;
    const report = buildReport({
      ...small,
      run: { ...run, totals: { ...run.totals, loaded } },
      verify: verify && { ...verify, found: 0, expired: loaded },
    });
    expect(report.summary).toMatch(/^Every loaded event has expired, so none is left to compare\. Expired since: /);
  });

  const faults: readonly [what: string, sum: string, ReportSources][] = [
    [
      'a record of a staged part that the check has not read',
      'Records of the source',
      changed(({ parts }) => ({ parts: parts.map((part, at) => (at === 3 ? { ...part, faults: 1 } : part)) })),
    ],
    [
      'an event that is in no day',
      'Events converted = to load',
      changed(({ days }) => ({ days: days.map((day, at) => (at === 2 ? { ...day, events: day.events - 1 } : day)) })),
    ],
    [
      'an event that was neither acknowledged nor refused',
      'Events to load',
      changed(({ days }) => ({
        days: days.map((day, at) => (at === 4 ? { ...day, accepted: day.accepted - 1 } : day)),
      })),
    ],
    [
      'an event that is not in the store',
      'Events loaded = found',
      changed(({ verify }) => ({ verify: verify && { ...verify, found: verify.found - 1 } })),
    ],
  ];
  it.each(faults)('shows %s', (_what, sum, sources) => {
    const report = buildReport(sources);
    const off = report.balance.filter(({ holds }) => !holds).map(({ name }) => name);
    expect(off.some((name) => name.startsWith(sum))).toBe(true);
    expect(report.verdict).toBe('different');
  });

  it('says for a cancelled load which days may be stored without updating persons', () => {
    const small = exactSources({ days: 4, names: 2 });
    const run: Run = { ...small.run, stage: 'load', state: 'cancelled' };
    const days = small.days.map((day, n) => (n < 2 ? Object.assign({}, day, { framesLoaded: 0, rejected: 0 }) : day));
    const [first, second, ...others] = days as [StoredDay, StoredDay, ...StoredDay[]];
    const remains = 'The run was cancelled in the stage load; what was loaded until then remains.';
    const summaryOf = (of: readonly StoredDay[]): string =>
      buildReport({ ...small, run, days: of, verify: undefined }).summary;
    const admitted = (day: StoredDay): StoredDay => ({ ...day, accepted: day.events });
    expect(summaryOf([{ ...first, accepted: 0 }, { ...second, accepted: 1 }, ...others])).toBe(remains);
    expect(summaryOf([admitted(first), { ...second, accepted: 0 }, ...others])).toBe(
      `${remains} Events of 1 more day may be stored although persons and groups are not updated yet; undo the run to delete them.`,
    );
    expect(summaryOf([admitted(first), admitted(second), ...others])).toContain('Events of 2 more days may be stored');
  });

  it('says what is not done: a check only, an unfinished load, a store that cannot be read', () => {
    const { run, verify } = small;
    const options = { ...run.options, last: 'check' } as const;
    const unread =
      verify && ({ ...verify, verdict: 'unreadable', detail: 'Give a personal key of the target.' } as const);
    expect(buildReport({ ...small, run: { ...run, options, stage: 'check' }, verify: undefined }).verdict).toBe(
      'checked',
    );
    expect(buildReport({ ...small, run: { ...run, stage: 'load' }, verify: undefined }).verdict).toBe('unfinished');
    const failed = { ...run, stage: 'load', state: 'failed', reason: 'the key is wrong; set another one.' } as const;
    expect(buildReport({ ...small, run: failed, verify: undefined })).toMatchObject({
      verdict: 'unfinished',
      summary: 'The run failed in the stage load: the key is wrong; set another one.',
    });
    const unverified = buildReport({ ...small, verify: unread });
    expect(unverified.verdict).toBe('unverified');
    expect(unverified.totals.events.verified).toBeNull();
    expect(unverified.summary).toContain('personal key');
  });

  it('is incomplete if every sum agrees but the source says that something is missing', () => {
    const { check, run } = small;
    const detail = 'The export is incomplete: 2 visits lack 701 of their actions.';
    const note = {
      of: 'matomo_actions_truncated',
      kind: 'incomplete',
      count: 2,
      amount: 701,
      samples: [],
      detail,
    } as const;
    const cut = { ...small, check: check && { ...check, notes: [note] } };
    const report = buildReport(cut);
    expect(report.balance.filter(({ holds }) => !holds)).toEqual([]);
    expect(report.verdict).toBe('incomplete');
    expect(report.summary.startsWith(detail)).toBe(true);
    expect(reportPage(report)).toContain('Source incomplete');
    const assumed = { ...note, kind: 'assumed' } as const;
    expect(buildReport({ ...small, check: check && { ...check, notes: [assumed] } }).verdict).toBe('exact');
    const unfinished = buildReport({ ...cut, run: { ...run, stage: 'load' }, verify: undefined });
    expect([unfinished.verdict, unfinished.summary.startsWith(detail)]).toEqual(['unfinished', true]);
  });

  it('contains each sentence once: the summary is not repeated as a problem or warning, and why a run failed is its problem', () => {
    const { check, run } = small;
    const missing = 'The export is incomplete: 2 visits lack 701 of their actions.';
    const many = 'The check rejected 3 of 100 records (3 %).';
    const note = { of: 'matomo_actions_truncated', kind: 'incomplete', count: 2, amount: 701, samples: [] } as const;
    const found = {
      ...check,
      verdict: 'failed',
      problems: [many],
      warnings: [missing, 'Look.'],
      notes: [{ ...note, detail: missing }],
    } as NonNullable<typeof check>;
    const times = (report: ReportResult, sentence: string): number => reportPage(report).split(sentence).length - 1;
    const checked = buildReport({
      ...small,
      run: { ...run, options: { ...run.options, last: 'check' }, stage: 'check' },
      check: found,
      verify: undefined,
    });
    expect([times(checked, missing), times(checked, many)]).toEqual([1, 1]);
    expect(checked).toMatchObject({ problems: [many], warnings: ['Look.'] });
    const progress = { ...run.progress, check: { ...run.progress.check, problems: ['too_many_rejected'] } };
    const reason = `${many} rejected_max allows 0 %.`;
    const totals = { ...run.totals, records: 100, rejected: 3 };
    const held = {
      ...run,
      stage: 'load',
      state: 'failed',
      reason,
      progress,
      totals,
    } as unknown as ReportSources['run'];
    const failed = buildReport({ ...small, run: held, check: found, verify: undefined });
    expect(failed).toMatchObject({ verdict: 'unfinished', problems: [reason] });
    expect([times(failed, many), failed.summary.includes('its problems say why')]).toEqual([1, true]);
  });

  it('counts a record that the choice skipped once, and its reason with the events', () => {
    const { check } = small;
    const chosen = { 'not in the sample': 7, 'before the time range': 2 };
    const totals = { ...check?.totals, skipped: { ...chosen, 'a deleted person': 1 }, left_out: chosen };
    const report = buildReport({ ...small, check: check && ({ ...check, totals } as typeof check) });
    const page = reportPage(report);
    for (const line of ['by choice: 9', 'a deleted person: 1', 'not in the sample: 7', 'before the time range: 2'])
      expect([line, page.split(line).length - 1]).toEqual([line, 1]);
  });

  it('says how many events had been stored by others', () => {
    const { verify } = small;
    const report = buildReport({ ...small, verify: verify && { ...verify, stored_by_others: 1234, other_times: 0 } });
    expect(report).toMatchObject({ verdict: 'exact', totals: { events: { stored_by_others: 1234 } } });
    expect(report.summary).toContain('1,234 of them were stored before, by another import or by live capture.');
    expect(reportPage(report)).toContain('all that was loaded; 1,234 by others');
    expect(reportPage(buildReport(small))).not.toContain('by others');
  });

  it('is built from what exists if a run failed before its check', () => {
    const report = buildReport({ ...small, days: [], check: undefined, verify: undefined });
    expect(report).toMatchObject({ verdict: 'unfinished', days: [], balance: [] });
    expect(report.totals.records.read).toBeGreaterThan(0);
    expect(reportPage(report)).toContain('Not finished');
  });

  it('names the cells that differ and counts the others once', () => {
    const { verify, check } = small;
    const day = '2024-01-03';
    const event = '$pageview';
    const expected = check?.days[day]?.[event] ?? 0;
    const cells = [{ day, event, expected, found: expected - 2 }];
    const report = buildReport({ ...small, verify: verify && { ...verify, verdict: 'different', cells } });
    const place = report.cells.events.indexOf(event);
    expect(report.cells.rows.find((row) => row.day === day)?.counts[place]).toEqual([expected, expected, expected - 2]);
    expect(report.cells.rows.find((row) => row.day === '2024-01-04')?.counts[place]).toBe(
      check?.days['2024-01-04']?.[event],
    );
    expect(report.days.find((line) => line.day === day)).toMatchObject({ verified: expect.any(Number) as number });
    expect(report.events.find((line) => line.event === event)).toMatchObject({ rejected: 1 });
  });

  it('shows no credentials of a target', () => {
    const target = { kind: 'http', url: 'https://user:s3cret@eu.example.com/batch/?api_key=phc_secret' } as const;
    const run = { ...small.run, options: { ...small.run.options, target } };
    const report = buildReport({ ...small, run });
    expect(report.options.target).toEqual({ kind: 'http', url: 'https://eu.example.com/batch/' });
    expect(reportPage(report)).not.toContain('s3cret');
  });
});

describe('the page of a report', () => {
  it('escapes hostile names everywhere', () => {
    const hostile = '</style><script>alert(1)</script><img src=x onerror=alert(2)>"\'\u202e';
    const { run, parts, days, check, verify } = exactSources({ days: 2, names: 1 });
    const page = reportPage(
      buildReport({
        run: {
          ...run,
          id: hostile,
          source: hostile,
          options: { ...run.options, format: hostile, range: { from: hostile } },
        },
        parts: parts.map((part) => Object.assign({}, part, { key: hostile })),
        refused: new Map(),
        days: days.map((day) =>
          Object.assign({}, day, { expected: JSON.stringify({ [hostile]: { count: day.accepted, checksum: '' } }) }),
        ),
        check: check && {
          ...check,
          days: Object.fromEntries(Object.entries(check.days).map(([day]) => [day, { [hostile]: 10 }])),
          errors: [
            { code: hostile, reason: hostile, count: 1, example: { part: hostile, line: 1, original: hostile } },
          ],
          problems: [hostile],
          warnings: [hostile],
          totals: { ...check.totals, skipped: { [hostile]: 7 } },
        },
        verify: verify && {
          ...verify,
          verdict: 'different',
          detail: hostile,
          differences: [
            {
              kind: 'missing',
              day: '2024-01-01',
              event: hostile,
              uuid: hostile,
              distinct_id: hostile,
              detail: hostile,
            },
          ],
        },
        now: small.now,
      }),
    );
    expect(page).toContain('&lt;script&gt;');
    expect(page).not.toMatch(/<script|<img|\u202e/i);
    // Only the page's own elements, and no attribute that a name could have opened.
    expect(page.match(/<style>/g)).toHaveLength(1);
    expect(tagsOf(page)).not.toContain('onerror');
  });

  it('counts unreadable records and rejected events as rejected, like the run', () => {
    const report = buildReport(small);
    const { records, events } = report.totals;
    const totals = {
      ...report.totals,
      records: { ...records, rejected: 6_424 },
      events: { ...events, rejected: 1_102 },
    };
    expect(reportPage({ ...report, totals })).toContain('<dt>Rejected</dt><dd>7,526<small>6,424 unreadable records');
  });

  it('says where the run can be undone, and that events in another kind of service cannot', () => {
    const report = buildReport(small);
    expect(reportPage(report)).toContain('on the page of this run in the console');
    const elsewhere = { ...report.options, target: { kind: 'http', url: 'https://t.example' } } as const;
    const page = reportPage({ ...report, options: elsewhere });
    expect(page).toContain(`millrace import undo ${report.run.id}`);
    expect(page).toContain('cannot be undone from here');
  });

  it('loads nothing external and runs no script', () => {
    const page = reportPage(buildReport(small));
    expect(tagsOf(page)).not.toMatch(/\s(src|href|action|style)=|<(script|link|iframe|object|embed|base)\b|url\(/i);
    expect(page).toContain('content="default-src &#39;none&#39;;');
  });

  it('stays below 2 MB for 1000 days of 300 events, in both forms', () => {
    const report = buildReport(exactSources({ days: 1_000, names: 300 }));
    expect(report.verdict).toBe('exact');
    expect(report.events).toHaveLength(51);
    expect(report.events.at(-1)).toMatchObject({ event: '', names: 250 });
    expect(JSON.stringify(report).length).toBeLessThan(2_000_000);
    expect(reportPage(report).length).toBeLessThan(2_000_000);
  });
});

describe('bars of time', () => {
  const cases: readonly [days: number, unit: string, bars: number][] = [
    [1, 'day', 1],
    [160, 'day', 160],
    [161, 'week', 23],
    [1_000, 'week', 143],
    [4_000, 'month', 132],
    [20_000, 'year', 55],
  ];
  it.each(cases)('%i days are shown by %s', (days, unit, bars) => {
    const sources = exactSources({ days, names: 2 });
    const bins = timeBins({ ...buildReport(sources), made_at: '2099-01-01T00:00:00.000Z' });
    expect(bins).toMatchObject({ unit });
    expect(bins?.bins).toHaveLength(bars);
    const events = sources.days.reduce((total, day) => total + day.events, 0);
    expect(bins?.bins.reduce((total, bin) => total + bin.toLoad, 0)).toBe(events);
  });

  it('59 events of 1970 and some of the far future are outside the chart, and do not compress a month', () => {
    const day = (index: number): string => `2024-03-${String(index + 1).padStart(2, '0')}`;
    const rows = [
      { day: '1970-01-01', counts: [59] },
      ...Array.from({ length: 31 }, (_, index) => ({ day: day(index), counts: [10] })),
      { day: '2099-01-01', counts: [2] },
    ];
    const bins = timeBins({ cells: { events: ['seen'], rows }, days: [], made_at: '2024-06-01T00:00:00.000Z' });
    expect(bins).toMatchObject({ unit: 'day', outside: 61 });
    expect(bins?.bins).toHaveLength(31);
    const only = { events: ['seen'], rows: rows.slice(0, 1) };
    expect(timeBins({ cells: only, days: [], made_at: '2024-06-01T00:00:00.000Z' })).toMatchObject({ outside: 0 });
  });
});

/** Returns the tags of a page without their contents. */
function tagsOf(page: string): string {
  return (page.replace(/<style>[^]*?<\/style>/, '').match(/<[^>]*>/g) ?? []).join('\n');
}
