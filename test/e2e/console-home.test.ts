/** The home page in a real browser. Skips without Chromium. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { lookFaults, startConsole, type ConsoleUnderTest } from '../support/console.ts';
import { apiSend } from '../support/import-runs.ts';
import { apiGet, projectKey } from '../support/server.ts';

/** Limits what hangs, not what is slow. */
const wait = { timeout: 300_000 };

describe.skipIf(!chromiumPath)('the home page', () => {
  let under: ConsoleUnderTest;
  beforeAll(async () => {
    under = await startConsole();
  });
  afterAll(() => under?.[Symbol.asyncDispose]());

  it('the demo is created by one click and removed by another', async () => {
    await under.open('home');
    const { page, server } = under;
    const names = async (): Promise<readonly string[]> =>
      (await apiGet<{ results: { name: string }[] }>(server, '/api/projects/')).results.map(({ name }) => name);
    const before = await names();
    const first = new URL(page.url()).pathname;
    await page.getByRole('button', { name: 'Create demo project' }).click();
    await page.getByText('This project has demo data').waitFor(wait);
    expect(new URL(page.url()).pathname).not.toBe(first);
    expect(await names()).toEqual([...before, 'Demo shop']);
    const run = page.getByRole('listitem').filter({ hasText: 'Shop history' });
    await run.getByText(/[\d,]{5,} loaded, \d+ rejected/).waitFor(wait);
    expect(await lookFaults(under, 'home-demo')).toEqual([]);

    await page.getByRole('button', { name: 'Remove demo' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove demo' }).click();
    await page.getByText('Demo removed.').waitFor(wait);
    await page.waitForURL(`**${first}`);
    expect(await names()).toEqual(before);
    // The page may have asked for the demo while it was removed.
    const ofTheDemo = /status of 404 .*\/api\/projects\/\d+\//;
    expect(under.problems().filter((problem) => !ofTheDemo.test(problem))).toEqual([]);
  });

  it('first steps belong to the project that is open', async () => {
    const { page, server } = under;
    await under.open('home');
    await page.getByText('First steps').waitFor();
    const { id, api_token } = await apiSend<{ id: number; api_token: string }>(server, 'POST', '/api/projects/', {
      name: 'Busy shop',
    });
    const body = JSON.stringify({ api_key: api_token, batch: [{ event: 'visit', distinct_id: 'ada' }] });
    const headers = { 'content-type': 'application/json' };
    await fetch(`${server.url}/batch/`, { method: 'POST', headers, body });
    const stored = (): Promise<{ results: unknown[] }> => apiGet(server, `/api/projects/${id}/events/`);
    await expect.poll(async () => (await stored()).results.length, wait).toBe(1);
    await page.reload();
    await page.getByText('First steps').waitFor();
    await page.getByRole('button', { name: /^Project:/ }).click();
    await page.getByRole('menuitem', { name: 'Busy shop' }).click();
    await page.getByRole('heading', { level: 1, name: 'Busy shop' }).waitFor();
    await page.getByText('First steps').waitFor({ state: 'detached' });
  });

  it('the first event, sent with the sample code, completes its step', async () => {
    await under.open('home');
    const { page } = under;
    await page.getByText('Waiting for the first event').waitFor();
    await page.getByText('No events in the last two days.').waitFor();
    expect(await lookFaults(under, 'home-new')).toEqual([]);
    await page.getByRole('tab', { name: 'Python' }).click();
    await page.waitForURL('**/home?sender=python');
    await page.getByText('from posthog import Posthog').waitFor();
    await page.getByRole('tab', { name: 'curl' }).click();
    const command = await page.getByText(/^curl http/).innerText();
    const [, url = '', body = ''] = /^curl (\S+) .* -d '(.*)'$/s.exec(command) ?? [];
    expect([url, body.includes(projectKey)]).toEqual([`${under.server.url}/batch/`, true]);
    const sent = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    expect(sent.status).toBe(200);
    await page.getByText('Received', { exact: true }).waitFor();
    expect(await page.getByText('Waiting for the first historical event').count()).toBe(1);
  });

  it('lists what needs attention, with links', async () => {
    const visit = { event: 'visit', distinct_id: 'ada' };
    const body = JSON.stringify({ api_key: projectKey, batch: [{ event: 'visit', distinct_id: '' }, visit] });
    await fetch(`${under.server.url}/batch/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    await under.open('home');
    const { page } = under;
    await page.getByText('First steps').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: /^Open:/ }).waitFor();
    expect(await lookFaults(under, 'home')).toEqual([]);
    await page
      .getByRole('link', { name: /^Open:/ })
      .first()
      .click();
    await page.waitForURL('**/dead-letters**');
  });
});
