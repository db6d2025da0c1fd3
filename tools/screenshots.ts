/**
 * Takes the pictures of README and docs: `npm run screenshots`. Starts the real service with made-up events, an import, a
 * transformation and faults, opens the pages of the console in Chromium, and writes docs/images/*.png. Needs Chromium.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { launchBrowser } from '../test/support/browser.ts';
import { createDraw } from '../test/support/draw.ts';
import { sessionCookie } from '../test/support/session-cookie.ts';
import { startService, type Service } from './compat/service.ts';

const images = fileURLToPath(new URL('../docs/images/', import.meta.url));
const hourMs = 3_600_000;

/** Page → what has to be there before its picture is taken. */
const pages: Readonly<Record<string, string>> = {
  home: 'Events by hour',
  transformations: 'Transformations',
  imports: 'Imports',
  events: 'Events',
  persons: 'Persons',
  'dead-letters': 'By reason',
  warnings: 'missing_distinct_id',
  usage: 'Events by day',
  status: 'Lag from receipt to storage',
};

interface MadeEvent {
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** A shop's events; the same at each run, but for the time. */
function shopEvents(count: number, from: number, to: number): MadeEvent[] {
  const draw = createDraw(7);
  return Array.from({ length: count }, (_, index) => ({
    event: draw.pick(['$pageview', '$pageview', '$pageview', 'cart opened', 'order placed']),
    distinct_id: draw.pick(['ada', 'grace', 'alan', 'edsger', 'barbara', 'donald']),
    timestamp: new Date(from + ((to - from) * index) / count).toISOString(),
    properties: { $current_url: 'https://shop.example/boots', plan: draw.pick(['free', 'pro']), total: index % 90 },
  }));
}

async function send(service: Service, apiKey: string, batch: readonly object[], more: object = {}): Promise<void> {
  const answer = await fetch(`${service.url}/batch/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ api_key: apiKey, batch, ...more }),
  });
  if (answer.status !== 200) throw new Error(`expected the events to be taken, got ${answer.status}`);
}

async function projectKeyOf(service: Service): Promise<string> {
  const { body: projects } = await service.api<{ results: { api_token: string }[] }>('GET', '/api/projects/');
  return projects.results[0]?.api_token ?? '';
}

async function fill(service: Service, key: string): Promise<void> {
  await addTransformations(service);
  const now = Date.now();
  await send(service, key, shopEvents(900, now - 47 * hourMs, now));
  await send(service, key, shopEvents(900, now - 900 * 24 * hourMs, now - 30 * 24 * hourMs), {
    historical_migration: true,
  });
  await send(service, key, [
    { event: 'order placed', distinct_id: 'ada' },
    { event: 'order placed', distinct_id: '' },
    { event: 'cart opened', distinct_id: 'grace', timestamp: 'never' },
  ]);

  const counts = '/api/projects/@current/events/counts/';
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await delay(200)) {
    const { body } = await service.api<{ total: { standard: number; historical: number } }>('GET', counts);
    if (body.total.standard + body.total.historical >= 1802) return;
  }
  throw new Error('expected the events to be stored within a minute');
}

/** Built in, and good without settings. */
const transformations = ['Bot filter', 'Property flattener', 'Referrer'] as const;

async function addTransformations(service: Service): Promise<void> {
  const { body } = await service.api<{ results: { id: number; name: string }[] }>(
    'GET',
    '/api/projects/@current/plugins/?limit=100',
  );
  for (const name of transformations) {
    const plugin = body.results.find((each) => each.name.startsWith(name));
    if (plugin === undefined) throw new Error(`expected a plugin called ${name}`);
    const config = { plugin: plugin.id, enabled: true };
    await service.api('POST', '/api/projects/@current/pipeline_transformation_configs/', config);
  }
}

interface ImportRun {
  readonly config: number;
  readonly run: string;
}

/** Two weeks of made-up history, as a customer data platform writes it: uploaded, imported and compared. */
async function importHistory(service: Service): Promise<ImportRun> {
  const root = '/api/projects/@current';
  const { body: plugins } = await service.api<{ results: { id: number; slug: string }[] }>(
    'GET',
    `${root}/plugins/?kind=import-app&limit=100`,
  );
  const plugin = plugins.results.find(({ slug }) => slug === 'files')?.id;
  await uploadTracks(service, 'tracks.ndjson');
  const configs = `${root}/pipeline_import_apps_configs/`;
  const { body: config } = await service.api<{ id: number }>('POST', configs, { plugin, name: 'History of the shop' });
  await service.api('PATCH', `${configs}${config.id}/settings/`, { paths: 'upload:tracks.ndjson', format: 'segment' });
  const { body: run } = await service.api<{ id: string }>('POST', `${configs}${config.id}/runs/`, {});
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await delay(200)) {
    const { body } = await service.api<{ state: string; reason: string }>(
      'GET',
      `${configs}${config.id}/runs/${run.id}/`,
    );
    if (body.state === 'completed') return { config: config.id, run: run.id };
    if (body.state === 'failed') throw new Error(`expected the import to succeed: ${body.reason}`);
  }
  throw new Error('expected the import to be done within a minute');
}

async function uploadTracks({ url, key }: Service, name: string): Promise<void> {
  const until = Date.now() - 400 * 24 * hourMs;
  const tracks = shopEvents(4000, until - 14 * 24 * hourMs, until).map(
    ({ event, distinct_id: userId, timestamp, properties }, index) =>
      JSON.stringify({ type: 'track', messageId: `m-${index}`, event, userId, timestamp, properties }),
  );
  const answer = await fetch(`${url}/api/projects/@current/import_files/?name=${name}&offset=0`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/octet-stream' },
    body: `${tracks.join('\n')}\n`,
  });
  if (!answer.ok) throw new Error(`expected the file to be taken, got ${answer.status}`);
}

/** What is sent while the page is open. */
async function takeLive(page: Page, service: Service, key: string): Promise<void> {
  await page.goto(`${service.url}/console/projects/1/live`);
  await page.getByText('watching').waitFor();
  await send(service, key, shopEvents(6, Date.now() - 6000, Date.now()));
  await page.getByText('stored', { exact: true }).nth(5).waitFor();
  await shoot(page, 'live');
}

async function takeTest(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/console/projects/1/transformations`);
  await page.getByRole('link', { name: transformations[1] }).click();
  await page.getByRole('tab', { name: 'Test' }).click();
  await page.getByRole('button', { name: 'Latest stored event' }).click();
  await page.getByText('"uuid"').first().waitFor();
  await page.getByRole('combobox', { name: 'Run', exact: true }).selectOption('chain');
  await page.getByRole('button', { name: 'Run test' }).click();
  await page.getByText('Result', { exact: true }).waitFor();
  await page.locator('main').evaluate((main) => main.scrollTo(0, 0));
  await shoot(page, 'transformation-test');
}

async function take(page: Page, url: string, name: string, text: string, path = name): Promise<void> {
  await page.goto(`${url}/console/projects/1/${path}`);
  await page.getByText(text).first().waitFor();
  await shoot(page, name);
}

async function shoot(page: Page, name: string): Promise<void> {
  // Charts and code draw themselves after their data has come.
  await page.waitForLoadState('networkidle').catch(() => undefined);
  await delay(400);
  await page.screenshot({ path: join(images, `${name}.png`) });
  console.log(`docs/images/${name}.png`);
}

const directory = await mkdtemp(join(tmpdir(), 'millrace-screenshots-'));
try {
  await mkdir(images, { recursive: true });
  await using service = await startService(directory, {});
  const key = await projectKeyOf(service);
  await fill(service, key);
  const { config, run } = await importHistory(service);
  const browser = await launchBrowser();
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
    await context.addCookies([await sessionCookie(service, service.key)]);
    const page = await context.newPage();
    for (const [name, text] of Object.entries(pages)) await take(page, service.url, name, text);
    await take(page, service.url, 'import-run', 'Exact', `imports/${config}/runs/${run}`);
    await takeLive(page, service, key);
    await takeTest(page, service.url);
  } finally {
    await browser.close();
  }
} finally {
  await rm(directory, { recursive: true, force: true });
}
