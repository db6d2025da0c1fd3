/** The page of users in a real browser. Skips without Chromium. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { lookFaults, startConsole, type ConsoleUnderTest } from '../support/console.ts';

describe.skipIf(!chromiumPath)('the page of users', () => {
  let under: ConsoleUnderTest;
  beforeAll(async () => {
    under = await startConsole();
  });
  afterAll(() => under?.[Symbol.asyncDispose]());

  it('a user is invited by a link that is shown once, changes role, is shut out and let in again', async () => {
    const { page } = under;
    await under.open('users');
    await page.getByRole('button', { name: 'Invite user' }).click();
    const form = page.getByRole('dialog');
    await form.getByRole('textbox', { name: 'E-mail address' }).fill('ann@example.com');
    await form.getByRole('textbox', { name: 'Name' }).fill('Ann <i>A</i>');
    expect(await lookFaults(under, 'users-invite')).toEqual([]);
    await form.getByRole('button', { name: 'Invite', exact: true }).click();
    await page.getByText('Copy it now').waitFor();
    const link = (await page.getByRole('dialog').locator('code').first().innerText()).trim();
    expect(link).toMatch(/^http/);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByText('Ann <i>A</i>').waitFor();
    expect(await page.content()).not.toContain(link);
    const choose = async (entry: string, confirm: string): Promise<void> => {
      await page.getByRole('button', { name: 'Actions of Ann' }).click();
      await page.getByRole('menuitem', { name: entry }).click();
      await page.getByRole('dialog').getByRole('button', { name: confirm, exact: true }).click();
    };
    await page.getByRole('button', { name: 'Actions of Ann' }).click();
    await page.getByRole('menuitem', { name: 'Change role' }).click();
    await page.getByRole('radio', { name: 'editor' }).check();
    await page.getByRole('dialog').getByRole('button', { name: 'Change role' }).click();
    await page.getByRole('cell', { name: 'editor' }).waitFor();
    await choose('Shut out', 'Shut out');
    await page.getByText('shut out', { exact: true }).waitFor();
    await choose('Let in again', 'Let in');
    await page.getByText('shut out', { exact: true }).waitFor({ state: 'detached' });
    expect(await lookFaults(under, 'users')).toEqual([]);
  });
});
