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
  live: 'Live',
  transformations: 'Transformations',
  imports: 'Imports',
  events: 'Events',
  persons: 'Persons',
  'dead-letters': 'By reason',
  warnings: 'missing_distinct_id',
  usage: 'Events by day',
  status: 'From arrival to stored',
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

async function fill(service: Service): Promise<void> {
  const { body: projects } = await service.api<{ results: { api_token: string }[] }>('GET', '/api/projects/');
  const key = projects.results[0]?.api_token ?? '';
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

async function take(page: Page, url: string, name: string, text: string): Promise<void> {
  await page.goto(`${url}/console/projects/1/${name}`);
  await page.getByText(text).first().waitFor();
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
  await fill(service);
  const browser = await launchBrowser();
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
    await context.addCookies([await sessionCookie(service, service.key)]);
    const page = await context.newPage();
    for (const [name, text] of Object.entries(pages)) await take(page, service.url, name, text);
  } finally {
    await browser.close();
  }
} finally {
  await rm(directory, { recursive: true, force: true });
}
