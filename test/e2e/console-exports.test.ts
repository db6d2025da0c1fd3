/** The exports page in a real browser. Skips without Chromium. */
import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { lookFaults, startConsole, type ConsoleUnderTest } from '../support/console.ts';
import { projectKey, untilSettled } from '../support/server.ts';

describe.skipIf(!chromiumPath)('the exports page', () => {
  let under: ConsoleUnderTest;
  beforeAll(async () => {
    under = await startConsole();
    const batch = Array.from({ length: 20 }, (_, i) => ({
      event: i % 2 === 0 ? 'order "paid" <b>' : '$pageview',
      distinct_id: `user-${i % 3}`,
      properties: { plan: i % 4 === 0 ? 'pro' : 'free' },
    }));
    const body = JSON.stringify({ api_key: projectKey, batch });
    await fetch(`${under.server.url}/batch/`, { method: 'POST', body });
    await untilSettled(under.server, { standard: 20 });
  });
  afterAll(() => under?.[Symbol.asyncDispose]());

  it('shows an empty state, counts, exports and downloads a file', async () => {
    const { page } = under;
    await under.open('exports');
    await page.getByText('No exports').waitFor();
    await page.getByRole('checkbox', { name: 'Persons' }).check();
    await page.getByRole('textbox', { name: 'Event names' }).fill('order*');
    await page.getByRole('button', { name: 'Count first' }).click();
    await expect.poll(() => page.getByRole('definition').first().innerText()).toBe('10');
    expect(await lookFaults(under, 'exports-form')).toEqual([]);
    await page.getByRole('button', { name: 'Start export' }).click();
    const link = page.getByRole('link', { name: 'events-00001.ndjson.gz' });
    await link.waitFor();
    await page.getByRole('link', { name: 'manifest.json' }).waitFor();
    const [file] = await Promise.all([page.waitForEvent('download'), link.click()]);
    const lines = gunzipSync(await readFile(await file.path()))
      .toString('utf8')
      .trim()
      .split('\n');
    expect(lines.map((line) => JSON.parse(line).event)).toEqual(Array(10).fill('order "paid" <b>'));
    expect(await lookFaults(under, 'exports')).toEqual([]);
  });

  it('takes the filter of the page of events, and deletes an export after a question', async () => {
    const { page } = under;
    await under.open('events?event=%24pageview');
    await page.getByRole('button', { name: 'Export' }).click();
    await page.getByRole('menuitem', { name: 'All matching events…' }).click();
    await page.waitForURL('**/exports?event=**');
    expect(await page.getByRole('textbox', { name: 'Event names' }).inputValue()).toBe('$pageview');
    await page.getByRole('combobox', { name: 'Destination' }).selectOption('s3');
    await page.getByRole('button', { name: 'Start export' }).click();
    await page.getByText('Expected "bucket" for a destination "s3"').waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete export' }).click();
    await page.getByText('No exports').waitFor();
  });
});
