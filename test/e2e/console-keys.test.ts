/** The API keys page in a real browser. Skips without Chromium. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { lookFaults, startConsole, type ConsoleUnderTest } from '../support/console.ts';

describe.skipIf(!chromiumPath)('the API keys page', () => {
  let under: ConsoleUnderTest;
  beforeAll(async () => {
    under = await startConsole();
  });
  afterAll(() => under?.[Symbol.asyncDispose]());

  const statusWith = async (key: string, path: string, method = 'GET'): Promise<number> =>
    (await fetch(under.server.url + path, { method, headers: { authorization: `Bearer ${key}` } })).status;

  it('a key is created with two scopes, used, refused other requests, revoked and refused', async () => {
    await under.open('keys');
    const { page } = under;
    await page.getByRole('button', { name: 'New key' }).click();
    const form = page.getByRole('dialog');
    await form.getByRole('textbox', { name: 'Name' }).fill('Nightly <b>import</b>');
    await form.getByRole('button', { name: 'Custom' }).click();
    expect(await lookFaults(under, 'keys-new')).toEqual([]);
    for (const object of ['plugin', 'project']) {
      await form.getByRole('combobox', { name: `Access to ${object}`, exact: true }).selectOption('read');
    }
    await form.getByRole('button', { name: 'Create key' }).click();
    await page.getByText('Copy the key now').waitFor();
    const key = (await page.getByRole('dialog').locator('code').first().innerText()).trim();
    expect(key).toMatch(/^phx_/);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('cell', { name: 'plugin:read, project:read' }).waitFor();
    expect(await page.content()).not.toContain(key);
    expect(await statusWith(key, '/api/projects/1/plugins/')).toBe(200);
    expect(await statusWith(key, '/api/projects/1/events/')).toBe(403);
    await page.getByRole('button', { name: 'Actions for Nightly' }).click();
    await page.getByRole('menuitem', { name: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Revoke key' }).click();
    await page.getByText('Key revoked').waitFor();
    expect(await statusWith(key, '/api/projects/1/plugins/')).toBe(401);
    // The list is refetched afterwards.
    await page.getByText('Nightly <b>import</b>').waitFor({ state: 'detached' });
    expect(await page.getByText('Nightly <b>import</b>').count()).toBe(0);
    expect(await lookFaults(under, 'keys')).toEqual([]);
  });
});
