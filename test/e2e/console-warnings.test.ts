/** The warnings page in a real browser. Skips without Chromium. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { lookFaults, startConsole, type ConsoleUnderTest } from '../support/console.ts';
import { projectKey } from '../support/server.ts';

describe.skipIf(!chromiumPath)('the warnings page', () => {
  let under: ConsoleUnderTest;
  beforeAll(async () => {
    under = await startConsole();
  });
  afterAll(() => under?.[Symbol.asyncDispose]());

  const send = (batch: readonly object[]): Promise<Response> =>
    fetch(`${under.server.url}/batch/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ api_key: projectKey, batch }),
    });
  const rows = () => under.page.getByRole('row').filter({ has: under.page.getByRole('cell') });

  it('shows an empty state that explains warnings', async () => {
    await under.open('warnings');
    await under.page.getByText('No warnings in this period').waitFor();
    expect(await lookFaults(under, 'warnings-empty')).toEqual([]);
  });

  it('shows a new warning with the affected events', async () => {
    await send([
      { event: 'visit', distinct_id: '' },
      { event: 'visit', distinct_id: 'ada', timestamp: 'never' },
    ]);
    await under.page.getByRole('link', { name: 'missing_distinct_id' }).click();
    const panel = under.page.getByRole('dialog');
    await panel.getByText('The event has no distinct_id, or an empty one.').waitFor();
    await panel.getByText('"visit"').first().waitFor();
    expect(new URL(under.page.url()).search).toBe('?type=missing_distinct_id');
    expect(await lookFaults(under, 'warning')).toEqual([]);
    await under.page.goBack();
    await panel.waitFor({ state: 'detached' });
  });

  it('keeps filters in the URL across a reload', async () => {
    await under.open('warnings');
    await rows().first().waitFor();
    await under.page.getByRole('combobox', { name: 'Any severity' }).selectOption('warning');
    await under.page.waitForURL('**/warnings?severity=warning');
    await expect.poll(() => rows().count()).toBe(1);
    await under.page.reload();
    await under.page.getByRole('link', { name: 'ignored_invalid_timestamp' }).waitFor();
    expect(await rows().count()).toBe(1);
    await under.page.getByRole('searchbox', { name: 'Search warnings' }).fill('nothing has this name');
    await under.page.getByText('No matching warnings').waitFor();
    await under.page.getByRole('button', { name: 'Clear filters' }).click();
    await expect.poll(() => rows().count()).toBe(2);
    expect(new URL(under.page.url()).search).toBe('');
  });

  it('can be used with the keyboard: slash, j, k, Enter and Escape', async () => {
    await under.open('warnings');
    await rows().first().waitFor();
    await under.page.keyboard.press('j');
    await under.page.keyboard.press('j');
    await under.page.keyboard.press('k');
    await under.page.keyboard.press('Enter');
    await under.page.getByRole('dialog').waitFor();
    await under.page.keyboard.press('Escape');
    await under.page.getByRole('dialog').waitFor({ state: 'detached' });
    await under.page.keyboard.press('/');
    await under.page.keyboard.type('timestamp');
    await under.page.waitForURL('**/warnings?q=timestamp');
    expect(await lookFaults(under, 'warnings')).toEqual([]);
  });

  it('focuses the row of the last key press before the next frame', async () => {
    await under.open('warnings');
    await rows().first().waitFor();
    await under.page.evaluate('requestAnimationFrame = () => 0');
    await under.page.keyboard.press('j');
    const focused = await under.page.evaluate("document.activeElement?.getAttribute('data-index')");
    expect(focused).toBe('0');
  });
});
