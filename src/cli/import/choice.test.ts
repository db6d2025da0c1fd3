import { exitCodes } from '../exit-codes.ts';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { shareOfText } from '../../base/share-of-text.ts';
import { startEndpoint } from '../../../test/support/capture-endpoint.ts';
import { linesOf, mixpanelLines, newImport, numbersOf, resultOf } from '../../../test/support/import-command.ts';
import type { ReportResult } from '../../imports/stages/report/report.ts';

const lines = mixpanelLines(1000);
const records = lines.map((line) => JSON.parse(line) as { event: string; properties: { time: number; n: number } });

/** Numbers of the records that are as `takes` says. */
function numbers(takes: (event: string, time: number, n: number) => boolean): number[] {
  return records
    .filter(({ event, properties: { time, n } }) => takes(event, time, n))
    .map(({ properties: { n } }) => n);
}

const from = Date.UTC(2024, 0, 3) / 1000;
const to = Date.UTC(2024, 0, 5, 12) / 1000;

describe.concurrent('choices of a command', () => {
  it.each<[string, readonly string[], readonly number[]]>([
    [
      'a time range',
      ['--from-date', '2024-01-03', '--to-date', '2024-01-05T12:00:00Z'],
      numbers((_, time) => time >= from && time < to),
    ],
    [
      'some events and not others',
      ['--only-event', 'Event *', '--except-event', 'Event 3', '--except-event', 'Event 4'],
      numbers((event) => event !== 'Event 3' && event !== 'Event 4'),
    ],
    ['a sample of persons', ['--sample', '20%'], numbers((_event, _time, n) => shareOfText(`u${n % 50}`) <= 0.2)],
  ])('%s: only the chosen records are sent, and the report adds up', async (_name, args, expected) => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(lines);
    const file = join(made.dir, 'report.json');
    const done = await made.start(endpoint.url, [...args, '--report', file]);
    expect([done.code, done.stderr]).toEqual([exitCodes.unverified.code, expect.stringContaining('starts')]);
    expect(expected.length).toBeGreaterThan(50);
    expect(numbersOf(endpoint.kept).toSorted((a, b) => a - b)).toEqual(expected);
    const report = JSON.parse(await readFile(file, 'utf8')) as ReportResult;
    expect(report.balance.filter(({ holds }) => !holds)).toEqual([]);
    expect(report.balance.map(({ name }) => name)).toContain('Events of the records = converted + excluded by choice');
    const { read, converted, left_out: leftOut } = report.totals.events;
    expect([read, converted, leftOut]).toEqual([1000, expected.length, 1000 - expected.length]);
  });

  it('the file of --choose is equivalent; another choice is another import, the same one is already done', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(lines);
    const file = join(made.dir, 'choice.json');
    await writeFile(file, JSON.stringify({ events: { only: ['Event 1'] }, sample: 0.5 }));
    const byFile = resultOf(await made.start(endpoint.url, ['--choose', file]));
    const byFlags = await made.start(endpoint.url, ['--sample', '50%', '--only-event', 'Event 1']);
    expect([byFlags.stderr, resultOf(byFlags).id]).toEqual([expect.stringContaining('is already done'), byFile.id]);
    const other = await made.start(endpoint.url, ['--choose', file, '--sample', '60%', '--check']);
    expect(resultOf(other).id).not.toBe(byFile.id);
    expect(linesOf(other).length).toBeGreaterThan(0);
  });

  it('columns of a table become properties; an unused key is a warning, and a missing table is named', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(lines);
    const table = join(made.dir, 'users.csv');
    await writeFile(table, 'id,plan,city\nu1,pro,\nu2,free,Rome\nu1,other,Oslo\n');
    const known = join(made.dir, 'kinds.csv');
    await writeFile(known, 'n,kind\n1,first\n');
    const joins = ['--join', table, '--on', 'distinct_id=id', '--join', known, '--on', 'n'];
    const done = await made.start(endpoint.url, joins);
    expect(done.code).toBe(exitCodes.unverified.code);
    const first = endpoint.kept
      .map(({ properties }) => properties as Record<string, unknown>)
      .toSorted((a, b) => Number(a['n']) - Number(b['n']));
    expect(first.slice(0, 4).map(({ plan, city, kind }) => [plan, city, kind])).toEqual([
      [undefined, undefined, undefined],
      ['pro', undefined, 'first'],
      ['free', 'Rome', undefined],
      [undefined, undefined, undefined],
    ]);
    // Joined twice the table has one warning of its rows.
    const twice = ['--join', table, '--on', 'n=id', '--join', table, '--on', 'distinct_id=id', '--check'];
    const unmatched = resultOf(await made.start(endpoint.url, twice)) as unknown as { check: { warnings: string[] } };
    const count = (text: string): number => unmatched.check.warnings.filter((each) => each.includes(text)).length;
    expect([count('No event matches a row of'), count('1 row of')]).toEqual([1, 1]);
    const missing = await made.start(endpoint.url, ['--join', `${table}.none`, '--on', 'n', '--check']);
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('users.csv.none')]);
    const noKey = await made.start(endpoint.url, ['--join', table, '--on', 'n', '--check']);
    expect([noKey.code, noKey.stderr]).toEqual([1, expect.stringContaining('the column "n"')]);
  });

  it('a lookup table is joined by its first column, whatever its name', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(mixpanelLines(10));
    const table = join(made.dir, 'numbers=all.csv');
    await writeFile(table, 'number id,kind\n1,first\n2,second\n');
    const done = await made.start(endpoint.url, ['--lookup-table', `n=${table}`]);
    expect([done.code, done.stderr]).toEqual([exitCodes.unverified.code, expect.any(String)]);
    const kinds = endpoint.kept
      .map(({ properties }) => properties as Record<string, unknown>)
      .toSorted((a, b) => Number(a['n']) - Number(b['n']));
    expect(kinds.slice(0, 4).map(({ kind }) => kind)).toEqual([undefined, 'first', 'second', undefined]);
    const wrong = await made.start(endpoint.url, ['--lookup-table', 'products.csv']);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('expected a property and a table')]);
  });

  it('a rule for unusual values has a flag; another rule is recognised as another mapping of the same records', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    const own = { time: 1_704_067_200, $insert_id: 'i' };
    await using made = await newImport([JSON.stringify({ event: 'e', properties: { ...own, distinct_id: ' ann' } })]);
    const first = resultOf(await made.start(endpoint.url));
    expect(endpoint.kept.map(({ distinct_id: id }) => id)).toEqual([' ann']);
    const other = await made.start(endpoint.url, ['--padded-ids', 'trim']);
    expect([other.code, other.stderr]).toEqual([exitCodes.failed.code, expect.stringContaining(`Run ${first.id} of`)]);
    const meant = await made.start(endpoint.url, ['--padded-ids', 'trim', '--again']);
    expect(meant.code).toBe(exitCodes.unverified.code);
    expect(endpoint.kept.map(({ distinct_id: id }) => id)).toEqual([' ann', 'ann']);
    const unknown = await made.start(endpoint.url, ['--padded-ids', 'cut']);
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('keep, trim, reject')]);
  });

  it('properties, identity and user agent have flags, which the sent events follow', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    const header = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
    const own = {
      time: 1_704_067_200,
      distinct_id: 'u',
      $insert_id: 'i',
      $device_id: 'd',
      n: 1,
      plan: 'pro',
      secret: 'x',
    };
    await using made = await newImport([JSON.stringify({ event: 'e', properties: { ...own, $useragent: header } })]);
    const flags = ['--rename-property', 'plan=tier', '--except-property', 'sec*', '--user-agent'];
    const done = await made.start(endpoint.url, [...flags, '--identity', 'device-only']);
    expect([done.code, endpoint.kept]).toEqual([
      exitCodes.unverified.code,
      [expect.objectContaining({ event: 'e', distinct_id: 'd' })],
    ]);
    const { properties } = endpoint.kept[0] as { properties: Record<string, unknown> };
    expect(properties).toMatchObject({ tier: 'pro', n: 1, $browser: 'firefox', $os: 'Linux' });
    expect(Object.keys(properties)).not.toEqual(expect.arrayContaining(['secret', 'plan', '$useragent']));
  });

  it('an invalid choice is refused before anything is read', async () => {
    await using made = await newImport(lines);
    const { code, stderr } = await made.start('http://127.0.0.1:9', ['--sample', '0%']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('choose.sample must be > 0')]);
  });
});
