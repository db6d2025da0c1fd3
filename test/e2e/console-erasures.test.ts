/** Erasing in a real browser, from the page of a person and by a filter. Skips without Chromium. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { lookFaults, startConsole, type ConsoleUnderTest } from '../support/console.ts';
import { readAllEvents } from '../support/ledger.ts';
import { projectKey, untilSettled } from '../support/server.ts';

describe.skipIf(!chromiumPath)('the erasures page', () => {
  let under: ConsoleUnderTest;
  beforeAll(async () => {
    under = await startConsole();
  });
  afterAll(() => under?.[Symbol.asyncDispose]());

  const id = `ada "<b>"`;
  const send = (batch: readonly object[]): Promise<Response> =>
    fetch(`${under.server.url}/batch/`, { method: 'POST', body: JSON.stringify({ api_key: projectKey, batch }) });
  const keptOut = async (): Promise<number> => {
    const answer = await under.page.request.get(`${under.server.url}/api/projects/1/erasures/kept_out/`);
    return ((await answer.json()) as { count: number }).count;
  };
  const names = async (): Promise<string[]> => (await readAllEvents(under.server)).map(({ event }) => event).toSorted();

  it('a person is erased after a count and its typed id, and events by a filter after the typed name of the project', async () => {
    const { page } = under;
    await under.open('erasures');
    await page.getByText('No erasures').waitFor();
    expect(await lookFaults(under, 'erasures-empty')).toEqual([]);
    await send([
      { event: 'theirs <i>', distinct_id: id, timestamp: '2024-03-01T00:00:00Z' },
      { event: 'theirs too', distinct_id: id, timestamp: '2024-04-01T00:00:00Z' },
      { event: 'old', distinct_id: 'grace', timestamp: '2020-01-01T00:00:00Z' },
      { event: 'new', distinct_id: 'grace' },
    ]);
    await untilSettled(under.server, { standard: 4 });
    await under.open(`persons/${encodeURIComponent(id)}`);
    await page.getByRole('button', { name: 'Erase' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('2 events are erased.').waitFor();
    await dialog.getByText('theirs <i>').waitFor();
    const erase = dialog.getByRole('button', { name: 'Erase permanently' });
    expect(await erase.isDisabled()).toBe(true);
    await dialog.getByRole('checkbox', { name: 'Keep them out' }).check();
    expect(await lookFaults(under, 'erase-person')).toEqual([]);
    await dialog.getByRole('textbox', { name: 'Confirmation' }).fill(id);
    await erase.click();
    await page.waitForURL('**/erasures');
    await page.getByText('Done').waitFor();
    await expect.poll(names).toEqual(['new', 'old']);
    await send([
      { event: 'theirs again', distinct_id: id },
      { event: 'newer', distinct_id: 'grace' },
    ]);
    await expect.poll(names).toEqual(['new', 'newer', 'old']);

    await page.getByRole('combobox', { name: 'What to erase' }).selectOption('events');
    await page.getByRole('textbox', { name: 'Before' }).fill('2021-01-01');
    await page.getByRole('button', { name: 'Count' }).click();
    await dialog.getByText('1 event is erased.').waitFor();
    await dialog.getByRole('textbox', { name: 'Confirmation' }).fill('Default project');
    await erase.click();
    await expect.poll(() => page.getByText('Done').count()).toBe(2);
    await expect.poll(names).toEqual(['new', 'newer']);
    await page.getByRole('combobox', { name: 'What to erase' }).selectOption('events');
    expect(await lookFaults(under, 'erasures')).toEqual([]);
    expect(await keptOut()).toBe(1);
  });
});
