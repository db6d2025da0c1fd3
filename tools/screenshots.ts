/**
 * Takes the pictures of README and docs: `npm run screenshots`. Starts the real service with the demo shop and a few faults, opens the
 * pages of the console in Chromium, and writes docs/images/*.png. Needs Chromium.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { createDemo, demoPersons, demoRuns, type DemoClient } from '../src/demo/demo.ts';
import { launchBrowser } from '../test/support/browser.ts';
import { sessionCookie } from '../test/support/session-cookie.ts';
import { startService, type Service } from './compat/service.ts';

const images = fileURLToPath(new URL('../docs/images/', import.meta.url));
/** Changes of a transformation reach the pipeline within this time. */
const takesEffectMs = 3000;

/** Page → text that appears when it is complete. */
const pages: Readonly<Record<string, string>> = {
  home: 'Events by hour',
  transformations: 'Amounts in euros',
  imports: 'Exact',
  events: 'Events by week',
  persons: 'identified',
  'dead-letters': 'By reason',
  warnings: 'missing_distinct_id',
  usage: 'Events by day',
  status: 'Lag from receipt to storage',
};

/** The project of the demo. */
interface Shop {
  readonly id: number;
  readonly key: string;
  readonly importId: number;
  readonly run: string;
}

async function fill(service: Service): Promise<Shop> {
  const client: DemoClient = {
    send: async <Result>(...[method, path, body]: Parameters<DemoClient['send']>) =>
      (await service.api<Result>(method, path, body)).body,
  };
  const { signal } = new AbortController();
  const demo = await createDemo(client, { persons: demoPersons, now: Date.now(), signal });
  const { id, api_token: key } = demo.project;
  const [run] = await demoRuns(client, demo);
  if (run === undefined) throw new Error('expected the demo to have a run, got none');
  await send(service, key, [
    { event: 'Order Completed', distinct_id: '' },
    { event: 'Product Viewed', distinct_id: 'customer-1', timestamp: 'never' },
    order(),
  ]);
  const letters = `/api/projects/${id}/dead_letters/`;
  for (let count = 0; count === 0; await delay(200)) {
    count = (await service.api<{ results: unknown[] }>('GET', letters)).body.results.length;
  }
  return { id, key, importId: demo.config, run: run.id };
}

function order(): object {
  return {
    event: 'Order Completed',
    distinct_id: 'customer-1',
    properties: { product: 'Hand Grinder', amount: 119, currency: 'USD', quantity: 1 },
  };
}

async function send(service: Service, apiKey: string, batch: readonly object[]): Promise<void> {
  const answer = await fetch(`${service.url}/batch/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ api_key: apiKey, batch }),
  });
  if (answer.status !== 200) throw new Error(`expected 200 for a batch, got ${answer.status}`);
}

async function takeAll(page: Page, service: Service, shop: Shop): Promise<void> {
  const base = `${service.url}/console/projects/${shop.id}`;
  const take = async (name: string, text: string, path = name): Promise<void> => {
    await page.goto(`${base}/${path}`);
    await page.getByText(text).first().waitFor();
    await shoot(page, name);
  };
  for (const [name, text] of Object.entries(pages)) await take(name, text);
  await take('import-run', 'Exact', `imports/${shop.importId}/runs/${shop.run}`);
  await page.goto(`${base}/live`);
  await page.getByText('watching').waitFor();
  await send(
    service,
    shop.key,
    Array.from({ length: 6 }, () => order()),
  );
  await page.getByText('stored', { exact: true }).nth(5).waitFor();
  await shoot(page, 'live');
  await takeTest(page, service, shop, base);
}

/** The test of an order that was stored while the transformation was disabled, so that the test changes it. */
async function takeTest(page: Page, service: Service, { key }: Shop, base: string): Promise<void> {
  await page.goto(`${base}/transformations`);
  await page.getByRole('switch').click();
  await delay(takesEffectMs);
  await send(service, key, [order()]);
  await delay(takesEffectMs);
  await page.getByRole('switch').click();
  await page.getByRole('link', { name: 'Amounts in euros' }).click();
  await page.getByRole('tab', { name: 'Test' }).click();
  await page.getByRole('button', { name: 'Latest stored event' }).click();
  await page.getByText('"uuid"').first().waitFor();
  await page.getByRole('button', { name: 'Run test' }).click();
  await page.getByText('normalized_amount').first().waitFor();
  await page.locator('main').evaluate((main) => main.scrollTo(0, 0));
  await shoot(page, 'transformation-test');
}

async function shoot(page: Page, name: string): Promise<void> {
  // Charts and code are drawn after their data has arrived.
  await page.waitForLoadState('networkidle').catch(() => undefined);
  await delay(400);
  await page.screenshot({ path: join(images, `${name}.png`) });
  console.log(`docs/images/${name}.png`);
}

const directory = await mkdtemp(join(tmpdir(), 'millrace-screenshots-'));
try {
  await mkdir(images, { recursive: true });
  await using service = await startService(directory, {});
  const shop = await fill(service);
  const browser = await launchBrowser();
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
    context.setDefaultTimeout(120_000);
    await context.addCookies([await sessionCookie(service, service.key)]);
    await takeAll(await context.newPage(), service, shop);
  } finally {
    await browser.close();
  }
} finally {
  await rm(directory, { recursive: true, force: true });
}
