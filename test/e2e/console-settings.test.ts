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

  it('usage counts live and historical events separately, by the day they were received', async () => {
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

  it('name and time zone are changed, and leaving with unsaved changes asks first', async () => {
    await under.open('settings');
    const { page } = under;
    await page.getByRole('textbox', { name: 'Name' }).fill('Shop <b>of</b> Ada');
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByText('Leave without saving?').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('combobox', { name: 'Time zone' }).selectOption('Europe/Paris');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Settings saved.').waitFor();
    await page.reload();
    await expect.poll(() => page.getByRole('combobox', { name: 'Time zone' }).inputValue()).toBe('Europe/Paris');
    await page.getByText('Shop <b>of</b> Ada').first().waitFor();
    expect(await lookFaults(under, 'settings')).toEqual([]);
  });

  it('limits are checked while they are typed, and apply to the next requests without a restart', async () => {
    await under.open('settings');
    const { page } = under;
    const rate = page.getByRole('textbox', { name: 'Body bytes per second' });
    expect(await rate.getAttribute('placeholder')).toBe('Default: unlimited');
    await rate.fill('1e3');
    await page.getByText('Expected a whole number').waitFor();
    const save = page.getByRole('button', { name: 'Save limits' });
    expect(await save.isDisabled()).toBe(true);
    expect(await lookFaults(under, 'settings-limits')).toEqual([]);
    await rate.fill('1');
    await save.click();
    await page.getByText('Limits saved.').waitFor();
    await expect.poll(() => capture(projectKey, false)).toBe(429);
    await page.reload();
    await expect.poll(() => rate.inputValue()).toBe('1');
    await rate.fill('');
    await save.click();
    await expect.poll(() => capture(projectKey, false)).toBe(200);
  });

  it('retention shows what a policy removes, and is saved once the name of the project is typed', async () => {
    await under.open('settings');
    const { page } = under;
    const days = page.getByRole('textbox', { name: 'Days of historical events' });
    await days.fill('soon');
    await page.getByText('Expected 1 to 36500 days').waitFor();
    expect(await page.getByRole('button', { name: 'Preview' }).isDisabled()).toBe(true);
    await days.fill('30');
    await page.getByRole('button', { name: 'Add event name' }).click();
    await page.getByRole('textbox', { name: 'Event name 1' }).fill('<b>kept</b> "name"');
    expect(await lookFaults(under, 'settings-retention')).toEqual([]);
    await page.getByRole('button', { name: 'Preview' }).click();
    const dialog = page.getByRole('dialog');
    const cells = dialog.getByRole('row').filter({ hasText: 'visit' }).getByRole('cell');
    await cells.first().waitFor();
    expect((await cells.allInnerTexts()).slice(0, 4)).toEqual(['2024-03', 'visit', 'historical', '1']);
    const save = dialog.getByRole('button', { name: 'Save policy' });
    expect(await save.isDisabled()).toBe(true);
    expect(await lookFaults(under, 'settings-retention-preview')).toEqual([]);
    await dialog.getByRole('textbox', { name: 'Project name' }).fill('Shop <b>of</b> Ada');
    await save.click();
    await page.getByText('Retention saved.').waitFor();
    await page.reload();
    await expect.poll(() => days.inputValue()).toBe('30');
    expect(await page.getByRole('textbox', { name: 'Event name 1' }).inputValue()).toBe('<b>kept</b> "name"');
    await page.getByRole('button', { name: 'Preview' }).click();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
  });

  it('a notification destination is created, its key is shown once, and a test reports its outcome', async () => {
    await under.open('settings');
    const { page } = under;
    await page.getByText('No destinations').waitFor();
    await page.getByRole('button', { name: 'New destination' }).click();
    await page.getByRole('textbox', { name: 'Destination name' }).fill('Ops <b>room</b>');
    await page.getByRole('textbox', { name: 'Address' }).fill('http://127.0.0.1:9/hook?token=s3cret');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('Signing key').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByText('Ops <b>room</b>').first().waitFor();
    expect(await page.content()).not.toContain('s3cret');
    expect(await lookFaults(under, 'settings-notifications')).toEqual([]);
    await page.getByRole('button', { name: 'Send test' }).click();
    // The operator decides whether private addresses are allowed.
    await page
      .getByText(/127\.0\.0\.1/)
      .nth(1)
      .waitFor();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('button', { name: 'Delete destination' }).click();
    await page.getByText('No destinations').waitFor();
  });

  it('after a reset of the project key the old one is refused', async () => {
    await under.open('settings');
    const { page } = under;
    await page.getByRole('button', { name: 'Reset key' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Reset key' }).click();
    await page.getByText('The old key is refused').waitFor();
    await expect.poll(() => capture(projectKey, false)).toBe(401);
    const fresh = await page.getByText(/^phc_/).innerText();
    expect(await capture(fresh.trim(), false)).toBe(200);
  });

  it('deleting a project requires its name', async () => {
    await under.open('settings');
    const { page } = under;
    await page.getByRole('button', { name: 'Delete project' }).click();
    const last = page.getByRole('button', { name: 'Delete permanently' });
    expect(await last.isDisabled()).toBe(true);
    await page.getByRole('textbox', { name: 'Project name' }).fill('Shop <b>of</b> Ada');
    await last.click();
    await page.getByText('No projects yet').waitFor();
    expect(under.problems()).toEqual([]);
  });
});
