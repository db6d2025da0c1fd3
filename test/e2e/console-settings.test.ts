/** Settings of a project and its usage in a real browser. Skips without Chromium. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { lookFaults, startConsole, type ConsoleUnderTest } from '../support/console.ts';
import { projectKey } from '../support/server.ts';

describe.skipIf(!chromiumPath)('settings and usage', () => {
  let under: ConsoleUnderTest;
  beforeAll(async () => {
    under = await startConsole();
  });
  afterAll(() => under?.[Symbol.asyncDispose]());

  const capture = async (key: string, historical: boolean): Promise<number> => {
    const timestamp = historical ? '2024-03-01T00:00:00Z' : new Date().toISOString();
    const batch = [{ event: 'visit', distinct_id: 'ada', timestamp }];
    const root = { api_key: key, batch, ...(historical && { historical_migration: true }) };
    const headers = { 'content-type': 'application/json' };
    return (await fetch(`${under.server.url}/batch/`, { method: 'POST', headers, body: JSON.stringify(root) })).status;
  };

  it('usage counts live and historical events apart, on the day of their arrival', async () => {
    await under.open('usage');
    const { page } = under;
    await page.getByText('No events in this period').waitFor();
    expect(await lookFaults(under, 'usage-empty')).toEqual([]);
    expect([await capture(projectKey, false), await capture(projectKey, true)]).toEqual([200, 200]);
    const today = new Date().toISOString().slice(0, 10);
    await expect
      .poll(
        async () => {
          await page.reload();
          const row = page.getByRole('row').filter({ hasText: today });
          await row.waitFor({ timeout: 5_000 }).catch(() => undefined);
          return (await row.count()) === 0 ? [] : await row.getByRole('cell').allInnerTexts();
        },
        { timeout: 60_000 },
      )
      .toEqual([today, '1', '1']);
    expect(await lookFaults(under, 'usage')).toEqual([]);
  });

  it('name and time zone are changed, and leaving without saving asks first', async () => {
    await under.open('settings');
    const { page } = under;
    await page.getByRole('textbox', { name: 'Name' }).fill('Shop <b>of</b> Ada');
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByText('Leave without saving?').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('combobox', { name: 'Time zone' }).selectOption('Europe/Paris');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    await page.reload();
    await expect.poll(() => page.getByRole('combobox', { name: 'Time zone' }).inputValue()).toBe('Europe/Paris');
    await page.getByText('Shop <b>of</b> Ada').first().waitFor();
    expect(await lookFaults(under, 'settings')).toEqual([]);
  });

  it('a destination of notices is named, its key shown once, and a test says what became of it', async () => {
    await under.open('settings');
    const { page } = under;
    await page.getByText('Nobody is told').waitFor();
    await page.getByRole('button', { name: 'New destination' }).click();
    await page.getByRole('textbox', { name: 'Destination name' }).fill('Ops <b>room</b>');
    await page.getByRole('textbox', { name: 'Address' }).fill('http://127.0.0.1:9/hook?token=s3cret');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('Key of its signatures').waitFor();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByText('Ops <b>room</b>').first().waitFor();
    expect(await page.content()).not.toContain('s3cret');
    expect(await lookFaults(under, 'settings-notices')).toEqual([]);
    await page.getByRole('button', { name: 'Send a test' }).click();
    // Private addresses are the operator's to allow.
    await page
      .getByText(/127\.0\.0\.1/)
      .nth(1)
      .waitFor();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('button', { name: 'Delete destination' }).click();
    await page.getByText('Nobody is told').waitFor();
  });

  it('a project with a new key refuses the old one', async () => {
    await under.open('settings');
    const { page } = under;
    await page.getByRole('button', { name: 'Reset key' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Reset key' }).click();
    await page.getByText('the old one is refused').waitFor();
    await expect.poll(() => capture(projectKey, false)).toBe(401);
    const fresh = await page.getByText(/^phc_/).innerText();
    expect(await capture(fresh.trim(), false)).toBe(200);
  });

  it('a project is deleted only by its name', async () => {
    await under.open('settings');
    const { page } = under;
    await page.getByRole('button', { name: 'Delete project' }).click();
    const last = page.getByRole('button', { name: 'Delete for good' });
    expect(await last.isDisabled()).toBe(true);
    await page.getByRole('textbox', { name: 'Name of the project' }).fill('Shop <b>of</b> Ada');
    await last.click();
    await page.getByText('There is no project yet').waitFor();
    expect(under.problems()).toEqual([]);
  });
});
