/** The page of the tracking plan in a real browser. Skips without Chromium. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { lookFaults, startConsole, type ConsoleUnderTest } from '../support/console.ts';
import { apiSend } from '../support/import-runs.ts';
import { apiGet, projectKey } from '../support/server.ts';

describe.skipIf(!chromiumPath)('the page of the tracking plan', () => {
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
  const name = 'order <b>"1"</b> é😀';
  const order = (n: number, more: object = {}) => ({
    event: name,
    distinct_id: `p${n}`,
    properties: { total: n, currency: n % 2 === 0 ? 'EUR' : 'USD', ...more },
  });
  interface Saved {
    readonly version: number;
    readonly plan: {
      readonly policy: string;
      readonly events: readonly { readonly name: string; readonly schema: object }[];
    } | null;
  }
  const stored = (): Promise<Saved> => apiGet(under.server, '/api/projects/1/tracking_plan/');

  it('explains that there is no plan', async () => {
    await under.open('tracking-plan');
    await under.page.getByText('No tracking plan', { exact: true }).waitFor();
    expect(await under.page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    expect(await lookFaults(under, 'tracking-plan-empty')).toEqual([]);
  });

  it('drafts a plan from stored events, and saves it after showing what changes', async () => {
    await send(Array.from({ length: 60 }, (_, n) => order(n)));
    const counted = async (): Promise<number> =>
      (await apiGet<{ results: unknown[] }>(under.server, '/api/projects/1/events/?limit=100')).results.length;
    await expect.poll(counted, { timeout: 60_000 }).toBe(60);
    await under.page.getByRole('button', { name: 'Learn from events' }).click();
    const dialog = under.page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Learn', exact: true }).click();
    await dialog.getByText(/Read 60 of 60 events/).waitFor();
    expect(await lookFaults(under, 'tracking-plan-learned')).toEqual([]);
    await dialog.getByRole('button', { name: 'Use this draft' }).click();
    await under.page.getByText('These changes are not saved.').waitFor();
    expect((await stored()).version).toBe(0);
    await under.page.getByRole('combobox', { name: 'Invalid properties' }).selectOption('drop');
    await under.page.getByRole('button', { name: 'Save', exact: true }).click();
    await under.page.getByRole('dialog').getByRole('button', { name: 'Save plan' }).click();
    await under.page.getByText('Saved version 1.').waitFor();
    const { version, plan } = await stored();
    expect([version, plan?.policy]).toEqual([1, 'drop']);
    expect(plan?.events).toEqual([
      {
        name,
        schema: {
          type: 'object',
          properties: { currency: { type: 'string', enum: ['EUR', 'USD'] }, total: { type: 'integer' } },
          required: ['currency', 'total'],
        },
      },
    ]);
    expect(await lookFaults(under, 'tracking-plan')).toEqual([]);
  });

  it('edits an event as a form and as JSON Schema, and keeps the changes across tabs until they are saved', async () => {
    await under.page.getByRole('link', { name: /order/ }).click();
    const panel = under.page.getByRole('dialog');
    await panel.getByRole('textbox', { name: 'Allowed values of property 1' }).fill('EUR, USD, GBP');
    await panel.getByRole('checkbox', { name: 'required (property 1)' }).uncheck();
    expect(await lookFaults(under, 'tracking-plan-event')).toEqual([]);
    await panel.getByRole('tab', { name: 'JSON Schema' }).click();
    await panel.getByText('"GBP"').waitFor();
    await panel.getByRole('button', { name: 'Apply to the draft' }).click();
    await under.page.getByRole('tab', { name: 'Violations' }).click();
    await under.page.getByText('No violations in the last 7 days').waitFor();
    await under.page.getByRole('button', { name: 'Save', exact: true }).click();
    await under.page.getByRole('dialog').getByRole('button', { name: 'Save plan' }).click();
    await under.page.getByText('Saved version 2.').waitFor();
    expect((await stored()).plan?.events[0]?.schema).toMatchObject({
      properties: { currency: { enum: ['EUR', 'USD', 'GBP'] } },
      required: ['total'],
    });
  });

  it('shows violations of live events with samples', async () => {
    await send([order(1, { total: 'twelve' }), order(2)]);
    await under.open('tracking-plan?tab=violations');
    await under.page.getByRole('link', { name: /order/ }).click({ timeout: 60_000 });
    const panel = under.page.getByRole('dialog');
    await panel
      .getByText(/expected integer, got: .*twelve/)
      .first()
      .waitFor();
    expect(await lookFaults(under, 'tracking-plan-violation')).toEqual([]);
    await under.page.keyboard.press('Escape');
  });

  it('brings an earlier version back into the editor, and refuses to overwrite the change of another user', async () => {
    await under.open('tracking-plan?tab=versions');
    await under.page.getByRole('button', { name: 'Open in editor version 1' }).click();
    await under.page.getByText('These changes are not saved.').waitFor();
    expect(await lookFaults(under, 'tracking-plan-versions')).toEqual([]);
    await under.page.getByRole('button', { name: 'Save', exact: true }).click();
    await under.page.getByRole('dialog').getByRole('button', { name: 'Save plan' }).click();
    await under.page.getByText('Saved version 3.').waitFor();
    expect((await stored()).plan?.events[0]?.schema).toMatchObject({ required: ['currency', 'total'] });
    await under.page.getByRole('button', { name: 'Open in editor version 2' }).click();
    await under.page.getByText('These changes are not saved.').waitFor();
    await apiSend(under.server, 'PUT', '/api/projects/1/tracking_plan/', { policy: 'warn' });
    await under.page.getByRole('button', { name: 'Save', exact: true }).click();
    await under.page.getByRole('dialog').getByRole('button', { name: 'Save plan' }).click();
    await under.page
      .getByRole('alert')
      .getByText(/changed/)
      .waitFor();
    expect((await stored()).plan?.policy).toBe('warn');
  });
});
