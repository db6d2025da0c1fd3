/** Agreements and the service's status in a real browser. Skips without Chromium. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { lookFaults, startConsole, type ConsoleUnderTest } from '../support/console.ts';
import { apiGet } from '../support/server.ts';

describe.skipIf(!chromiumPath)('pages for operators', () => {
  let under: ConsoleUnderTest;
  beforeAll(async () => {
    under = await startConsole({ env: { MILLRACE_HISTORICAL_AGREEMENT: 'required' } });
  });
  afterAll(() => under?.[Symbol.asyncDispose]());

  it('an agreement is requested, approved, in force and ended', async () => {
    await under.open('agreements');
    const { page } = under;
    await page.getByText('No agreements yet').waitFor();
    await page.getByText('need an approved agreement').waitFor();
    expect(await lookFaults(under, 'agreements-empty')).toEqual([]);
    await page.getByRole('button', { name: 'Request an agreement' }).click();
    const form = page.getByRole('dialog');
    await form.getByRole('textbox', { name: 'Source' }).fill('Old <b>tool</b>');
    await form.getByRole('textbox', { name: 'Total events' }).fill('many');
    await form.getByText('Expected a whole number above 0.').waitFor();
    await form.getByRole('textbox', { name: 'Total events' }).fill('3000000');
    expect(await lookFaults(under, 'agreements-request')).toEqual([]);
    await form.getByRole('button', { name: 'Submit request' }).click();
    await page.getByText('Request submitted.').waitFor();
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('cell', { name: 'approved' }).waitFor();
    const rules = '/api/projects/1/historical_migrations/settings/';
    expect(await apiGet(under.server, rules)).toMatchObject({ events_per_second: 1000, filed: 0 });
    expect(await lookFaults(under, 'agreements')).toEqual([]);
    await page.getByRole('button', { name: 'End agreement' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End agreement' }).click();
    await page.getByRole('cell', { name: 'ended' }).waitFor();
    expect(await apiGet(under.server, rules)).toMatchObject({ agreement_in_force: null });
  });

  it('the status shows lanes, parts, the machine and errors', async () => {
    await under.open('status');
    const { page } = under;
    await page.getByRole('rowheader', { name: 'Lag from receipt to storage' }).waitFor();
    await page.getByText('event store', { exact: true }).waitFor();
    expect(await page.getByText('SQLite').count()).toBe(1);
    expect(await lookFaults(under, 'status')).toEqual([]);
  });
});
