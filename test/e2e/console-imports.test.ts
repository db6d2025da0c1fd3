/** The import pages in a real browser. Skips without Chromium. */
import { gzipSync } from 'node:zlib';
import type { Response } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { lookFaults, startConsole, type ConsoleUnderTest } from '../support/console.ts';
import {
  apiSend,
  createFilesConfig,
  createImportConfig,
  startImport,
  untilRun,
  writeRecords,
} from '../support/import-runs.ts';
import { personalKey } from '../support/server.ts';

const records = 109;
/** Loaded day by day at a limited speed, to leave time for a pause. */
const days = 8;

/** A track call in the format of a customer data platform. */
function trackCall(index: number): string {
  const call = {
    type: 'track',
    event: 'leads',
    userId: `person-${index % 99}`,
    messageId: String(912_535 + index),
    channel: 'sources',
    timestamp: new Date(Date.UTC(2020, 11, 29 - (index % days), 7, 26, 1)).toISOString(),
    properties: { id: index, city: null, isLead: true, firstName: `Name ${index}` },
  };
  return `${JSON.stringify(call)}\n`;
}

function trackCalls(): Buffer {
  return gzipSync(Array.from({ length: records }, (_, index) => trackCall(index)).join(''));
}

/** Ten valid records, one of them twice and one with a padded id, and three that are not events. */
function withRejected(): object[] {
  const track = (index: number, more: object = {}): object => ({
    event: 'signed up',
    distinct_id: `new-${index}`,
    uuid: `0194a7e2-0000-7000-8000-0000000000${10 + index}`,
    properties: {},
    timestamp: new Date(Date.UTC(2021, 4, 3, 10, index)).toISOString(),
    ...more,
  });
  const good = Array.from({ length: 8 }, (_, index) => track(index));
  const nameless = [20, 21, 22].map((index) => track(index, { event: undefined }));
  return [...good, track(8, { distinct_id: ' padded ' }), track(0), ...nameless];
}

/** Returns the value under a name in a list of facts. */
function factOf(page: ConsoleUnderTest['page'], name: string): Promise<string> {
  return page
    .locator('dt', { hasText: new RegExp(`^${name}$`) })
    .locator('xpath=following-sibling::dd')
    .innerText();
}

const idOf = (path: string): string => path.replace(/\/$/, '').split('/').at(-1) ?? '';

/** The limit only leaves time for the pause: what the page sends also lifts it. */
async function resumeAtFullSpeed(page: ConsoleUnderTest['page'], resume: () => Promise<void>): Promise<void> {
  const path = /\/resume\/?$/;
  await page.route(path, async (route) => {
    const sent = (route.request().postDataJSON() ?? {}) as object;
    const headers = { ...route.request().headers(), 'content-type': 'application/json' };
    await route.continue({ headers, postData: { ...sent, events_per_second: 100_000 } });
  });
  const resumed = page.waitForResponse((response) => path.test(response.url()));
  await resume();
  expect((await resumed).status()).toBe(200);
  await page.unroute(path);
}

/** Selects part of the source and renames a property, then reverts both. */
async function changeSelection(under: ConsoleUnderTest): Promise<void> {
  const { page } = under;
  const chosen = page.locator('summary', { hasText: 'Selection and changes' });
  await chosen.click();
  await page.getByLabel('Before', { exact: true }).fill('2020-12-28');
  await page.getByLabel('New name of channel').fill('source_channel');
  await page.locator('summary', { hasText: 'Patterns, and names that are not listed' }).click();
  await page.getByRole('combobox', { name: 'Exclude these properties' }).fill('is*');
  await page.getByRole('button', { name: 'Add to “Exclude these properties”' }).click();
  await page.getByText('before 2020-12-28 · properties: without 1 · 1 renamed').waitFor();
  await page.getByText('after the time range').first().waitFor();
  expect(await lookFaults(under, 'imports-choice')).toEqual([]);
  await page.getByLabel('Before', { exact: true }).fill('');
  await page.getByRole('button', { name: 'Remove is*' }).click();
  await page.getByLabel('New name of channel').first().fill('');
  // Names that are excluded stay listed, to be imported again.
  await page.getByRole('checkbox', { name: 'channel' }).uncheck();
  await page.getByText('properties: without 1').waitFor();
  await page.getByRole('checkbox', { name: 'channel' }).check();
  await chosen.getByText('all, unchanged').waitFor();
  await page.getByText(/20 events, 0 skipped, 0 rejected/).waitFor();
  await chosen.click();
}

describe.skipIf(!chromiumPath)('the import pages', () => {
  let under: ConsoleUnderTest;
  beforeAll(async () => {
    under = await startConsole();
  });
  afterAll(() => under?.[Symbol.asyncDispose]());

  const button = (name: string | RegExp) => under.page.getByRole('button', { name });

  it('show an empty state that leads to the wizard', async () => {
    await under.open('imports');
    await under.page.getByText('No imports yet').waitFor();
    expect(await lookFaults(under, 'imports-empty')).toEqual([]);
    await under.page.getByRole('link', { name: 'New import' }).first().click();
    await button(/^Files/).waitFor();
    await under.page.getByRole('searchbox', { name: 'Search sources' }).fill('rudderstack');
    await button(/^Segment and RudderStack/).waitFor();
    expect(await button(/^Files/).count()).toBe(0);
    await under.page.getByRole('searchbox', { name: 'Search sources' }).fill('');
    expect(await lookFaults(under, 'imports-sources')).toEqual([]);
  });

  it('the wizard imports a file: mapped, checked, started, paused, resumed, every record stored, report opened', async () => {
    const { page } = under;
    await under.open('imports/new');
    await button(/^Files/).click();
    const file = { name: 'track.ndjson.gz', mimeType: 'application/gzip', buffer: trackCalls() };
    await page.getByLabel('Files to upload').setInputFiles(file);
    await page.getByRole('checkbox', { name: /track\.ndjson\.gz/ }).waitFor();
    await page.getByText('Speed, error tolerance and target').click();
    await page.getByLabel('Events per second').fill('5');
    // Input survives a reload of the page.
    await page.reload();
    await page.getByText('Speed, error tolerance and target').click();
    expect(await page.getByLabel('Events per second').inputValue()).toBe('5');
    expect(await lookFaults(under, 'imports-connection')).toEqual([]);
    await button('Continue to mapping').click();

    // A built-in format is detected; custom mapping rules can be used instead.
    await page.getByText('Detected from the first records').waitFor();
    expect(await page.getByLabel('Format', { exact: true }).inputValue()).toBe('segment');
    await page.getByLabel('Format', { exact: true }).selectOption('mapping');
    await page.getByText('Set the mapping rules before you continue.').waitFor();
    expect(await button('Continue to review').isDisabled()).toBe(true);
    await button('Use these rules').click();
    await page.getByText(/20 events, 0 skipped, 0 rejected/).waitFor();
    await page.getByText('"leads"').first().waitFor();
    expect(await lookFaults(under, 'imports-mapping')).toEqual([]);
    await changeSelection(under);
    await button('Continue to review').click();

    await button('Check all records').click();
    await page.getByText('Check passed.').waitFor();
    await page.reload();
    await page.getByText('Check passed.').waitFor();
    expect(await lookFaults(under, 'imports-check')).toEqual([]);
    await button(`Load ${records} events`).click();

    await button('Pause').click();
    await page.getByText('paused', { exact: true }).first().waitFor();
    await resumeAtFullSpeed(page, () => button('Resume').click());
    await page.getByText('Exact', { exact: true }).waitFor();
    await page.getByText(`${records} of ${records} events`).first().waitFor();
    expect(await lookFaults(under, 'imports-run')).toEqual([]);
    await page.getByRole('tab', { name: 'Reconciliation' }).click();
    await page.getByText('The store holds all', { exact: false }).waitFor();
    await page.getByRole('cell', { name: '2020-12-29' }).waitFor();
    await page.getByRole('columnheader', { name: 'Rejected by the target' }).waitFor();
    expect(await lookFaults(under, 'imports-reconciliation')).toEqual([]);
    const opened = under.context.waitForEvent('page');
    await page.getByRole('link', { name: 'Report' }).click();
    const report = await opened;
    await report.getByText('The store holds all', { exact: false }).first().waitFor();
    await report.close();
  });

  it('the wizard imports a table of persons, with the day that it shows for all rows', async () => {
    const { page } = under;
    await under.open('imports/new');
    await button(/^Files/).click();
    const rows = ['id,email,plan', '"9007199254740993",ann@example.com,pro', 'u2,"""Ben"" <b@example.com>",free'];
    await page
      .getByLabel('Files to upload')
      .setInputFiles({ name: 'customers.csv', mimeType: 'text/csv', buffer: Buffer.from(rows.join('\n')) });
    await page.getByRole('checkbox', { name: /customers\.csv/ }).waitFor();
    await button('Continue to mapping').click();
    await page.getByText('"ann@example.com"').first().waitFor();
    await page.getByLabel('Each record is').selectOption('persons');
    await page.getByText(/2 events, 0 skipped, 0 rejected/).waitFor();
    expect(await page.getByLabel('Valid since: source').inputValue()).toBe('constant');
    await page.getByLabel('Valid since', { exact: true }).fill('2024-05-01');
    await page.getByText('2024-05-01T00:00:00').first().waitFor();
    expect(await lookFaults(under, 'imports-mapping-persons')).toEqual([]);
    await button('Continue to review').click();
    await button('Check all records').click();
    await button('Load 2 events').click();
    await page.getByText('2 of 2 events').first().waitFor();
    await page.getByText('Exact', { exact: true }).waitFor();
    await under.open('persons?distinct_id=9007199254740993');
    await page.getByText('ann@example.com').first().waitFor();
  });

  it('a schedule runs an import: created, run now, paused, resumed, edited, deleted', async () => {
    const { page, server } = under;
    const settings = { host: 'http://127.0.0.1:9', project_id: '1', personal_api_key: personalKey };
    const config = await createImportConfig(server, 'PostHog or Millrace', settings);
    await apiSend(server, 'PATCH', config, { name: 'Old <b>project</b>' });
    const files = await createFilesConfig(server, { paths: 'a.ndjson', format: 'posthog' });
    await under.open('imports');
    await page.getByRole('tab', { name: 'Schedules' }).click();
    await page.getByText('No schedules').waitFor();
    expect(await lookFaults(under, 'imports-schedules-empty')).toEqual([]);

    await button('New schedule').click();
    const dialog = page.getByRole('dialog');
    const chosen = dialog.getByLabel('Import', { exact: true });
    await chosen.selectOption(idOf(files));
    await dialog.getByLabel(/^Minutes between runs/).fill('4');
    await button('Save schedule').click();
    await dialog.getByText('Expected 5 to 10,080 minutes.').waitFor();
    expect(await lookFaults(under, 'imports-schedule-form')).toEqual([]);
    await dialog.getByLabel(/^Minutes between runs/).fill('90');
    await button('Save schedule').click();
    await dialog.getByText('cannot select by time', { exact: false }).waitFor();
    expect(under.problems()).toEqual([expect.stringContaining('status of 400')]);
    await chosen.selectOption(idOf(config));
    await button('Save schedule').click();
    await page.getByText('every 90 min').waitFor();
    await page.getByText('none yet').waitFor();

    const act = async (name: string): Promise<void> => {
      await button(/^Actions for/).click();
      await page.getByRole('menuitem', { name }).click();
    };
    await act('Run now');
    await page.getByText('Run queued.').waitFor();
    await page.getByRole('link', { name: /^(queued|running|failed)$/ }).waitFor();
    await act('Pause');
    await page.getByText('when resumed').waitFor();
    await button('Undo').click();
    await page.getByText('when resumed').waitFor({ state: 'detached' });
    expect(await lookFaults(under, 'imports-schedules')).toEqual([]);
    await act('Edit');
    await dialog.getByLabel('When').selectOption('daily');
    await dialog.getByLabel(/^Time of day/).fill('04:15');
    await button('Save schedule').click();
    await page.getByText('daily at 04:15').waitFor();
    await page.getByRole('table').getByRole('link', { name: 'Runs' }).click();
    await page.getByRole('link', { name: 'Old <b>project</b>' }).waitFor();
    await page.goBack();
    await act('Delete');
    await button('Delete schedule').click();
    await page.getByText('No schedules').waitFor();
  });

  it('a run shows what an undo would do before it starts', async () => {
    const { page } = under;
    await under.open('imports');
    await page.getByRole('link', { name: 'track.ndjson.gz' }).first().click();
    await button('Undo…').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('leads: 109').waitFor();
    expect(await lookFaults(under, 'imports-undo')).toEqual([]);
    await dialog.getByRole('button', { name: 'Undo 109 events' }).click();
    await page.getByText('undone', { exact: true }).waitFor();
    await page.getByText('1 of 1 month').waitFor();
    await page.getByRole('tab', { name: 'Reconciliation' }).click();
    await page.getByText('Undone. 109 events were removed.').waitFor();
    expect(await page.getByText('The store holds all', { exact: false }).count()).toBe(0);
  });

  it('a failed check is shown in red and offers to skip the rejected records without another check', async () => {
    const { page, server } = under;
    const paths = await writeRecords(server.dataDir, 'with-rejected.ndjson.gz', withRejected());
    const config = await createFilesConfig(server, { paths, format: 'posthog' });
    // First in the wizard, then on the run page.
    const run = await startImport(server, config, { last: 'check' });
    await untilRun(server, run, ({ state }) => state === 'completed');
    await under.open(`imports/new?step=review&config=${idOf(config)}&run=${idOf(run)}`);
    await page.getByText('3 of 13 records are rejected').waitFor();
    const rule = page.getByLabel('Rule for: Ids with leading or trailing white space');
    expect(await rule.inputValue()).toBe('keep');
    expect(await page.getByText('"choose"').count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Download rejected records' }).getAttribute('href')).toContain(
      'rejected',
    );
    expect(await lookFaults(under, 'imports-check-failed')).toEqual([]);
    await rule.selectOption('trim');
    const applied = page.waitForResponse((answer) => answer.url().includes('/resume'));
    await button('Apply and check again').click();
    await applied;
    await untilRun(server, run, ({ state }) => state === 'completed');
    await page.getByRole('button', { name: 'Apply and check again', disabled: true }).waitFor();
    expect(await rule.inputValue()).toBe('trim');
    await button('Change rules').click();
    await page.getByText(/events, 0 skipped, 3 rejected/).waitFor();
    await page.goBack();
    // Ten valid ones, of which one occurs twice.
    await button('Skip 3 rejected and load 9 events').waitFor();
    expect(await factOf(page, 'Not loaded')).toBe('3 rejected, 1 duplicate');

    await under.open('imports');
    const row = page.getByRole('row', { name: /Check failed/ });
    expect(await lookFaults(under, 'imports-list-check-failed')).toEqual([]);
    await row.getByRole('link').click();
    await button('Skip 3 rejected and load').waitFor();
    expect(await button('Load checked events').count()).toBe(0);
    expect(await lookFaults(under, 'imports-run-check-failed')).toEqual([]);
    await button('Skip 3 rejected and load').click();
    await page.getByText('Exact', { exact: true }).waitFor();
    await page.getByText('9 of 9 events').first().waitFor();
    await button('Undo…').click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Undo 9 events/ })
      .click();
    await page.getByText('undone', { exact: true }).waitFor();
    expect(await factOf(page, 'Loaded')).toBe('0');
    expect(await factOf(page, 'Undone')).toBe('9');
  });

  it('a run of the command line shows its commands instead of empty results', async () => {
    const { page, server } = under;
    const id = '0198c0de-0000-7000-8000-000000000001';
    await apiSend(server, 'PUT', `/api/projects/1/import_runs/${id}/`, commandRun);
    await under.open('imports');
    await page.getByRole('link', { name: 'Command line' }).click();
    await page.getByText(`millrace import rejected --run ${id}`).waitFor();
    expect(await factOf(page, 'Rejected')).toBe('3');
    expect(await page.getByRole('tab').count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Report' }).count()).toBe(0);
    expect(await button('Undo…').count()).toBe(1);
    expect(await lookFaults(under, 'imports-run-command')).toEqual([]);
  });

  it('pages of a command line run request nothing that does not exist, from start to undo', async () => {
    const { page, server } = under;
    // Listed first.
    const id = '0f98c0de-0000-7000-8000-000000000002';
    let loaded = 0;
    const report = (state: string, more: object = {}): Promise<unknown> => {
      loaded += 1;
      const { run } = commandRun;
      const changed = { ...run, state, stage: 'load', totals: { ...run.totals, loaded }, ...more };
      return apiSend(server, 'PUT', `/api/projects/1/import_runs/${id}/`, { ...commandRun, run: changed });
    };
    const shows = (state: string) => page.getByText(state, { exact: true }).first().waitFor();
    const refused: string[] = [];
    const collect = (answer: Response): unknown =>
      answer.status() >= 400 && refused.push(`${answer.status()} ${answer.request().method()} ${answer.url()}`);
    page.on('response', collect);
    await report('running');
    await under.open('home');
    await page.getByRole('link', { name: 'Command line' }).first().click();
    await shows('running');
    await button('Pause').click();
    await shows('paused');
    await report('running');
    await shows('running');
    await report('failed', { reason: 'the target cannot be reached' });
    await shows('failed');
    await report('running');
    await page.reload();
    await button('Cancel run').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel run' }).click();
    await shows('cancelled');
    await button('Undo…').click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Undo \d/ })
      .click();
    await shows('undone');
    await under.open('imports');
    await page.getByRole('link', { name: 'Command line' }).first().waitFor();
    await under.open('activity');
    await page.getByText('Command line').first().click();
    await page.getByRole('dialog').getByText('Item at that time').waitFor();
    page.off('response', collect);
    expect(refused).toEqual([]);
  });

  it('a run that failed before its check is shown without requests for missing results', async () => {
    const { page, server } = under;
    const paths = await writeRecords(server.dataDir, 'gone.ndjson.gz', withRejected());
    const config = await createFilesConfig(server, { paths: `${paths}.gone`, format: 'posthog' });
    const run = await startImport(server, config, { preflight: false });
    await untilRun(server, run, ({ state }) => state === 'failed');
    under.problems();
    const place = `imports/${idOf(config)}/runs/${idOf(run)}`;
    for (const [tab, text] of [
      ['check', 'Not checked yet'],
      ['preflight', 'No preflight'],
      ['rejected', 'No rejected records'],
      ['reconciliation', 'The run failed in the stage export'],
    ]) {
      await under.open(`${place}?tab=${tab}`);
      await page
        .getByText(text ?? '')
        .first()
        .waitFor();
    }
    await under.open(`imports/new?step=review&config=${idOf(config)}&run=${idOf(run)}`);
    await page.getByRole('link', { name: 'Open run' }).waitFor();
    const check = await startImport(server, config, { preflight: false, last: 'check' });
    await untilRun(server, check, ({ state }) => state === 'failed');
    await under.open(`imports/new?step=review&config=${idOf(config)}&run=${idOf(check)}`);
    await page.getByText('The check did not finish.').waitFor();
    await button('Check again').waitFor();
    expect(under.problems()).toEqual([]);
  });
});

/** The request of a command that reports its run. */
const commandRun = {
  begin: true,
  command: 'millrace import mixpanel export.ndjson --project-key phc_…',
  days: { first: '2024-01-01', last: '2024-01-03' },
  run: {
    source: 'files',
    state: 'completed',
    stage: 'report',
    reason: '',
    options: {
      from: null,
      to: null,
      format: 'mixpanel',
      format_options: {},
      names: null,
      choose: null,
      transform: null,
      again: false,
      replace: false,
      last: 'report',
      limit: null,
      rejected_max: 0.5,
      events_per_second: 0,
      preflight: false,
      scheduled: false,
      target: { kind: 'http', url: 'http://127.0.0.1:8000' },
    },
    stages: [],
    totals: {
      records: 8,
      skipped: {},
      rejected: 3,
      events: 5,
      left_out: {},
      duplicates: 0,
      loaded: 5,
      verified: 5,
      verdict: 'exact',
      replaced: {},
    },
  },
};
