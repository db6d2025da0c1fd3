/** The pages of stored events, persons and groups in a real browser. Skips without Chromium. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { lookFaults, startConsole, type ConsoleUnderTest } from '../support/console.ts';
import { projectKey } from '../support/server.ts';

const hostile = '<img src=x onerror=alert(1)> \u202egnp.exe';
const order = '12345678901234567890';

describe.skipIf(!chromiumPath)('the data pages of the console', () => {
  let under: ConsoleUnderTest;
  beforeAll(async () => {
    under = await startConsole();
  });
  afterAll(() => under?.[Symbol.asyncDispose]());

  const send = async (batch: string, more = ''): Promise<void> => {
    const answer = await fetch(`${under.server.url}/batch/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"api_key":"${projectKey}","batch":${batch}${more}}`,
    });
    expect(answer.status).toBe(200);
  };
  const rows = () => under.page.getByRole('row').filter({ has: under.page.getByRole('cell') });

  it('show empty states with what to do next', async () => {
    for (const [path, text] of [
      ['events', 'No events yet'],
      ['persons', 'No persons yet'],
      ['groups', 'No groups yet'],
    ] as const) {
      await under.open(path);
      await under.page.getByText(text).waitFor();
      expect(await lookFaults(under, `${path}-empty`)).toEqual([]);
    }
  });

  it('events are filtered by name, property, lane and time, with all filters in the URL', async () => {
    const { page } = under;
    const visits = Array.from({ length: 150 }, (_, i) => ({
      event: 'visit',
      distinct_id: `p${i % 3}`,
      properties: { i, plan: i < 5 ? 'pro' : 'free' },
    }));
    await send(JSON.stringify(visits));
    await send(`[{"event":${JSON.stringify(hostile)},"distinct_id":"ada","properties":{"order":${order}}}]`);
    const old = { event: 'old visit', distinct_id: 'p1', timestamp: '2020-01-01T00:00:00Z', properties: { n: 1 } };
    await send(JSON.stringify([old]), ',"historical_migration":true');
    await expect
      .poll(
        async () => {
          await under.open('events?historical=true');
          await rows()
            .first()
            .waitFor({ timeout: 5_000 })
            .catch(() => undefined);
          return rows().count();
        },
        { timeout: 60_000 },
      )
      .toBe(1);
    await under.open('events');
    await rows().first().waitFor();
    await page.getByText('<img src=x onerror=alert(1)> ⟨U+202E⟩gnp.exe').first().waitFor();
    await page.getByText(`order: ${order}`).waitFor();
    expect(await lookFaults(under, 'events')).toEqual([]);
    await page.getByRole('combobox', { name: 'Event', exact: true }).fill('visit');
    await page.waitForURL(/event=visit/);
    await page.getByRole('button', { name: 'Property', exact: true }).click();
    expect(await lookFaults(under, 'events-filter')).toEqual([]);
    await page.getByRole('combobox', { name: 'Property' }).fill('plan');
    await page.getByRole('textbox', { name: 'Value' }).fill('pro');
    await page.getByRole('button', { name: 'Add filter' }).click();
    await expect.poll(() => rows().count()).toBe(5);
    await page.reload();
    await expect.poll(() => rows().count()).toBe(5);
    await page.getByText('5 live', { exact: false }).first().waitFor();
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('checkbox', { name: 'plan' }).check();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('columnheader', { name: 'plan' }).waitFor();
    expect(new URL(page.url()).searchParams.get('columns')).toBe('["plan"]');
  });

  it('from and before are in the project’s time zone, and an incomplete time changes nothing', async () => {
    const { page } = under;
    await under.open('events?historical=true');
    await page.getByRole('combobox', { name: 'Any time' }).selectOption('custom');
    await page.getByLabel('From', { exact: true }).fill('2019-12-31T23:00');
    await page.waitForURL(/after=2019-12-31T23/);
    await expect.poll(() => rows().count()).toBe(1);
    await page.getByLabel('Before', { exact: true }).fill('2020-01-01T00:00');
    await page.getByText('No matching events').waitFor();
    await page.reload();
    expect(await page.getByLabel('Before', { exact: true }).inputValue()).toBe('2020-01-01T00:00');
    await page.getByLabel('From', { exact: true }).press('Delete');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await expect.poll(() => page.getByLabel('From', { exact: true }).count()).toBe(0);
    await expect.poll(() => rows().count()).toBeGreaterThan(1);
  });

  it('loaded events are exported as NDJSON and CSV with every digit', async () => {
    const { page } = under;
    await under.open('events?distinct_id=ada');
    await expect.poll(() => rows().count()).toBe(1);
    const save = async (kind: string): Promise<string> => {
      await page.getByRole('button', { name: 'Export' }).click();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('menuitem', { name: kind }).click(),
      ]);
      return readFile(await download.path(), 'utf8');
    };
    expect(await save('NDJSON')).toContain(`"order":${order}`);
    const csv = await save('CSV');
    expect(csv.split('\r\n')[0]).toMatch(/^uuid,event,distinct_id,timestamp,historical_migration,/);
    expect(csv).toContain(order);
  });

  it('an event opens by its URL and links to its person', async () => {
    const { page } = under;
    await under.open('events?distinct_id=ada');
    await rows().first().getByRole('button').click();
    const panel = page.getByRole('dialog');
    await panel.getByText(order).waitFor();
    await page.waitForURL(/uuid=/);
    await page.reload();
    await panel.getByText(order).waitFor();
    expect(await lookFaults(under, 'event')).toEqual([]);
    await panel.getByRole('link', { name: 'ada' }).click();
    await page.getByRole('heading', { level: 1, name: 'ada' }).waitFor();
  });

  it('a person has properties, ids and events, and is found by the prefix of an id', async () => {
    const { page } = under;
    await send(
      JSON.stringify([
        { event: 'before the sign-in', distinct_id: 'anon-1' },
        {
          event: '$identify',
          distinct_id: 'grace',
          properties: { $anon_distinct_id: 'anon-1', $set: { email: 'grace@example.com' } },
        },
        {
          event: '$groupidentify',
          distinct_id: 'grace',
          properties: { $group_type: 'company', $group_key: 'acme', $group_set: { name: 'Acme' } },
        },
      ]),
    );
    await expect
      .poll(
        async () => {
          await under.open('persons?q=grac');
          const link = page.getByRole('link', { name: 'grace@example.com' });
          await link.waitFor({ timeout: 5_000 }).catch(() => undefined);
          return link.count();
        },
        { timeout: 60_000 },
      )
      .toBe(1);
    expect(await lookFaults(under, 'persons')).toEqual([]);
    await page.getByRole('link', { name: 'grace@example.com' }).click();
    await page.getByText('anon-1').first().waitFor();
    await page.getByText('anon-1').first().waitFor();
    // Events of both ids, although the page was opened by one of them.
    await rows().filter({ hasText: '$identify' }).first().waitFor();
    await rows().filter({ hasText: 'before the sign-in' }).first().waitFor();
    await page.getByRole('link', { name: 'Open in Events' }).click();
    await page.waitForURL(/person_id=/);
    await expect.poll(() => rows().count()).toBeGreaterThanOrEqual(2);
    await page.goBack();
    expect(await lookFaults(under, 'person')).toEqual([]);
  });

  it('groups have their types and properties', async () => {
    const { page } = under;
    await under.open('groups');
    await page.getByRole('tab', { name: 'company' }).waitFor();
    await page.getByRole('button', { name: 'acme' }).click();
    await page.getByRole('dialog').getByText('"Acme"').waitFor();
    expect(await lookFaults(under, 'groups')).toEqual([]);
  });
});
