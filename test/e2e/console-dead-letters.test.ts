/** The dead letters page in a real browser. Skips without Chromium. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { lookFaults, startConsole, type ConsoleUnderTest } from '../support/console.ts';
import { readAllEvents } from '../support/ledger.ts';
import { projectKey } from '../support/server.ts';

describe.skipIf(!chromiumPath)('the dead letters page', () => {
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
  const names = async (): Promise<string[]> => (await readAllEvents(under.server)).map(({ event }) => event).toSorted();

  it('a dead letter is corrected, tested in a dry run, replayed and stored once', async () => {
    await under.open('dead-letters');
    const { page } = under;
    await page.getByText('No dead letters').waitFor();
    expect(await lookFaults(under, 'dead-letters-empty')).toEqual([]);
    await send([
      { event: 'good', distinct_id: 'ada' },
      { event: 'lost <b>order</b>', distinct_id: '', properties: { n: 1 } },
    ]);
    await page.getByRole('button', { name: 'lost <b>order</b>' }).click();
    const panel = page.getByRole('dialog');
    await panel.getByRole('button', { name: 'Dry run' }).click();
    await panel.getByText('The event would still be refused.').waitFor();
    const editor = panel.getByRole('textbox', { name: 'Event' });
    await editor.click();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(
      '{"event": "found", "distinct_id": "ada", "properties": {"n": 12345678901234567890}',
    );
    await panel.getByText('Invalid JSON').waitFor();
    expect(await panel.getByRole('button', { name: 'Dry run' }).isDisabled()).toBe(true);
    await page.keyboard.insertText('}');
    await panel.getByRole('button', { name: 'Dry run' }).click();
    await panel.getByText('The event would be stored.').waitFor();
    expect(await lookFaults(under, 'dead-letter')).toEqual([]);
    await panel.getByRole('button', { name: 'Replay corrected event' }).click();
    await page.getByText('Replayed. The event will be stored shortly.').waitFor();
    await panel.waitFor({ state: 'detached' });
    await page.getByText('No dead letters').waitFor();
    await expect.poll(names).toEqual(['found', 'good']);
  });

  it('all dead letters of a reason are replayed with progress; those still refused stay, and are discarded', async () => {
    await send([
      { event: 'good', distinct_id: 'ada' },
      ...Array.from({ length: 12 }, (_, n) => ({ event: `nameless ${n}`, distinct_id: '' })),
    ]);
    await under.open('dead-letters');
    const { page } = under;
    await page.getByRole('button', { name: /^missing_distinct_id/ }).click();
    await page.waitForURL('**/dead-letters?reason=missing_distinct_id');
    await page.getByRole('button', { name: 'Replay all matching' }).click();
    await page.getByText('12 match.').waitFor();
    await page.getByRole('button', { name: 'Replay 12' }).click();
    await page.getByText('Done: 0 replayed, 12 still refused.').waitFor();
    expect(await lookFaults(under, 'dead-letters-replay')).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
    await page.getByRole('button', { name: 'Discard all matching' }).click();
    await page.getByRole('button', { name: 'Discard all', exact: true }).click();
    await page.getByText('12 discarded.').waitFor();
    await page.getByRole('combobox', { name: 'Open' }).selectOption('discarded');
    await page.getByRole('button', { name: 'nameless 11' }).waitFor();
    expect(await lookFaults(under, 'dead-letters')).toEqual([]);
  });
});
