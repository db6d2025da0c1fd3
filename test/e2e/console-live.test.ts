/** The live page in a real browser. Skips without Chromium. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { lookFaults, startConsole, type ConsoleUnderTest } from '../support/console.ts';
import { freePort, projectKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';
import { watchCpu } from '../support/tab-cpu.ts';

describe.skipIf(!chromiumPath)('the live page', () => {
  let under: ConsoleUnderTest;
  let server: TestServer;
  let dataDir: Awaited<ReturnType<typeof tempDataDir>>;
  let port: number;
  const start = (): Promise<TestServer> => startServer(dataDir.path, { MILLRACE_PORT: String(port) });

  beforeAll(async () => {
    dataDir = await tempDataDir();
    port = await freePort();
    server = await start();
    under = await startConsole({ server });
  });
  afterAll(async () => {
    await under?.[Symbol.asyncDispose]();
    await server?.terminate();
    await dataDir[Symbol.asyncDispose]();
  });

  const send = async (batch: readonly object[]): Promise<void> => {
    const answer = await fetch(`${under.server.url}/batch/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ api_key: projectKey, batch }),
    });
    expect(answer.status).toBe(200);
  };
  const rows = () => under.page.getByRole('row').filter({ has: under.page.getByRole('cell') });
  const watching = () => under.page.getByText('watching', { exact: true }).waitFor();

  it('the first event, sent with the sample code of the home page, appears', async () => {
    const { page } = under;
    await under.open('home');
    const command = await page.getByText(/^curl http/).innerText();
    await page.getByRole('link', { name: 'Open the live view' }).click();
    await watching();
    await page.getByText('Waiting for events').waitFor();
    expect(await lookFaults(under, 'live-empty')).toEqual([]);
    const [, url = '', body = ''] = /^curl (\S+) .* -d '(.*)'$/s.exec(command) ?? [];
    await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    await expect.poll(() => rows().count()).toBe(2);
    await rows().filter({ hasText: 'stored' }).getByRole('button', { name: 'first event' }).click();
    const panel = page.getByRole('dialog');
    await panel.getByText('received', { exact: true }).waitFor();
    await panel.getByRole('link', { name: 'Open stored event' }).waitFor();
    expect(await lookFaults(under, 'live-path')).toEqual([]);
    await page.keyboard.press('Escape');
  });

  it('shows why an event became a dead letter, hostile names as text and every digit', async () => {
    await under.open('live');
    await watching();
    const hostile = '<img src=x onerror=alert(1)> \u202egnp.exe';
    const body = `{"api_key":"${projectKey}","batch":[{"event":${JSON.stringify(hostile)},"distinct_id":"ada","properties":{"order":12345678901234567890}},{"event":"bad","distinct_id":"ada","properties":7}]}`;
    await fetch(`${under.server.url}/batch/`, { method: 'POST', body });
    await rows().filter({ hasText: 'dead letter' }).getByText('malformed_event_properties').waitFor();
    const stored = rows().filter({ hasText: 'stored' });
    await stored.getByText('order: 12345678901234567890').waitFor();
    await stored.getByText('<img src=x onerror=alert(1)> ⟨U+202E⟩gnp.exe').waitFor();
    expect(await lookFaults(under, 'live')).toEqual([]);
  });

  it('keeps filters in the URL, and counts new events while paused', async () => {
    const { page } = under;
    await under.open('live?event=visit');
    await watching();
    await page.getByRole('button', { name: /^received/ }).click();
    await page.waitForURL(/stages=/);
    // Until then the previous stream is shown.
    await page.getByRole('button', { name: /^received/, pressed: false }).waitFor();
    await watching();
    await send([
      { event: 'visit', distinct_id: 'ada' },
      { event: 'other', distinct_id: 'ada' },
    ]);
    await expect.poll(() => rows().count()).toBe(1);
    await page.keyboard.press('p');
    await page.getByRole('button', { name: 'Resume (0 new)' }).waitFor();
    await send([
      { event: 'visit', distinct_id: 'ada' },
      { event: 'visit', distinct_id: 'bob' },
    ]);
    await page.getByRole('button', { name: 'Resume (2 new)' }).click();
    await expect.poll(() => rows().count()).toBe(3);
  });

  it('under a flood the newest rows are shown, all other events are counted, and the page stays responsive', async () => {
    const { page } = under;
    await under.open('live');
    await watching();
    const perSecond = 1_000;
    // More than the page keeps, of the rows per second that it shows.
    const seconds = 6;
    const cpu = await watchCpu(page);
    const before = await cpu();
    for (let second = 0; second < seconds; second += 1) {
      const began = performance.now();
      await send(
        Array.from({ length: perSecond }, (_, i) => ({ event: 'flood', distinct_id: `p${i % 50}`, properties: { i } })),
      );
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, 1000 - (performance.now() - began))));
    }
    // A page above this would not respond to input.
    expect((await cpu()) - before).toBeLessThan((seconds * 1000) / 2);
    const all = perSecond * seconds;
    await expect.poll(async () => counted(await page.getByText(/rows shown/).innerText())).toBe(2 * all);
    expect(await page.getByText(/rows shown/).innerText()).toMatch(/^1,000 rows shown/);
    expect(under.problems()).toEqual([]);
  });

  // Last: a service ends with the test that started it.
  it('reports a lost connection and reconnects', async () => {
    const { page } = under;
    await under.open('live');
    await watching();
    await server.terminate();
    await page.getByText('reconnecting', { exact: true }).waitFor();
    server = await start();
    await page.getByText('watching', { exact: true }).waitFor();
    await page.getByText(/Connection lost once/).waitFor();
    await send([{ event: 'after the break', distinct_id: 'ada' }]);
    await expect.poll(() => rows().filter({ hasText: 'after the break' }).count()).toBe(2);
    under.problems();
  });
});

/** Returns the number of rows plus the events that the note reports as not shown. */
function counted(note: string): number {
  const [shown = '', missing = ''] = /^([\d,]+) rows shown\.(?: ([\d,]+) not shown)?/.exec(note)?.slice(1) ?? [];
  return Number(shown.replaceAll(',', '')) + Number((missing ?? '').replaceAll(',', '') || 0);
}
