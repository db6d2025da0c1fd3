/**
 * Every page of the console while the event store stops and while the session ends, and one of each kind while the service is
 * killed: the page reports it, recovers without a reload and keeps its input. Skips without Chromium.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { fillProject, type FilledProject } from '../support/console-project.ts';
import { spawnCommand } from '../support/command.ts';
import { openTabs, type Tab, type Tabs } from '../support/console-tabs.ts';
import { hasProc, whileStoreStands } from '../support/processes.ts';
import { freePort, personalKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';

interface OpenPage {
  /** Path in console/src/router.tsx. */
  readonly route: string;
  readonly path: (made: FilledProject) => string;
  /** A field for unsaved input. */
  readonly input?: (page: Page) => Locator;
  readonly text?: string;
  /** Fills the rest of the form first. */
  readonly prepare?: (page: Page) => Promise<void>;
  /** Part of a request path that the page no longer needs after the input. */
  readonly replaced?: string;
}

/** A stream, a list, a polled page and forms. More pages would slow down the start of the service on two processors. */
const kinds = new Set(['live', 'events', 'status', 'transformations/$configId', 'imports/new', 'agreements']);

const typed = 'typed before';
/** Labels of required fields end with a star. */
const field = (name: string) => (page: Page) => page.getByRole('textbox', { name: new RegExp(`^${name}( \\*)?$`) });
const search = (name: string) => (page: Page) => page.getByRole('searchbox', { name });

const pages: readonly OpenPage[] = [
  { route: 'home', path: () => 'home' },
  { route: 'transformations', path: () => 'transformations', input: search('Search transformations'), text: 'bot' },
  { route: 'transformations', path: () => 'transformations?add=code', input: field('Code') },
  {
    route: 'transformations/$configId',
    path: ({ transformation }) => `transformations/${transformation}`,
    input: field('Description'),
  },
  {
    route: 'transformations/$configId',
    path: ({ transformation }) => `transformations/${transformation}?tab=test`,
    input: field('Event'),
    text: '{"event": "typed before"}',
  },
  { route: 'imports', path: () => 'imports' },
  { route: 'imports', path: () => 'imports?tab=schedules&set=new', input: field('Overlap in minutes') },
  { route: 'imports/new', path: () => 'imports/new', input: search('Search sources') },
  {
    route: 'imports/new',
    path: () => 'imports/new?step=connect&source=s3',
    // Secrets are not stored in the browser: they are lost with the form.
    input: (page) => page.getByLabel(/secret access key/i),
  },
  {
    route: 'imports/new',
    path: ({ importConfig }) => `imports/new?step=map&source=files&config=${importConfig}`,
    prepare: async (page) => {
      await page.getByLabel('Format', { exact: true }).selectOption('mapping');
      await page.getByRole('button', { name: 'Edit as JSON' }).click();
    },
    input: field('Rules as JSON'),
    replaced: '/import_formats',
  },
  { route: 'imports/$configId', path: ({ importConfig }) => `imports/${importConfig}` },
  {
    route: 'imports/$configId/runs/$runId',
    path: ({ importConfig, run }) => `imports/${importConfig}/runs/${run}`,
  },
  { route: 'live', path: () => 'live', input: search('Event') },
  { route: 'events', path: () => 'events', input: search('Distinct id') },
  { route: 'persons', path: () => 'persons', input: search('Search persons') },
  { route: 'persons/$distinctId', path: () => 'persons/ada' },
  { route: 'groups', path: () => 'groups', input: search('Search keys') },
  { route: 'tracking-plan', path: () => 'tracking-plan?event=%2B', input: field('Event name') },
  { route: 'exports', path: () => 'exports', input: field('Distinct ids') },
  { route: 'erasures', path: () => 'erasures', input: field('Distinct ids') },
  { route: 'warnings', path: () => 'warnings', input: search('Search warnings') },
  {
    route: 'dead-letters',
    path: ({ deadLetter }) => `dead-letters?letter=${deadLetter}`,
    input: field('Event'),
    text: '{"event": "typed before", "distinct_id": "ada"}',
  },
  { route: 'activity', path: () => 'activity', input: search('Action') },
  { route: 'usage', path: () => 'usage' },
  {
    route: 'agreements',
    path: () => 'agreements?file=true',
    prepare: async (page) => {
      await field('Source')(page).fill('Old tool');
      await field('Total events')(page).fill('1000');
    },
    input: field('Note'),
  },
  { route: 'keys', path: () => 'keys?create=true', input: field('Name') },
  { route: 'settings', path: () => 'settings', input: field('Name') },
  {
    route: 'settings',
    path: () => 'settings',
    prepare: (page) => page.getByRole('button', { name: 'New destination' }).click(),
    input: field('Destination name'),
  },
  {
    route: 'users',
    path: () => 'users?invite=true',
    input: field('E-mail address'),
    text: 'typed.before@example.com',
  },
  { route: 'status', path: () => 'status' },
];

it('the table contains every page of the console', () => {
  const router = readFileSync(new URL('../../console/src/router.tsx', import.meta.url), 'utf8');
  const routes = [...router.matchAll(/getParentRoute: \(\) => projectRoute,\s+path: '([^']+)'/g)].map(
    ([, path]) => path,
  );
  expect(new Set(pages.map(({ route }) => route))).toEqual(new Set(routes));
});

describe.skipIf(!chromiumPath)('every page of the console', () => {
  let server: TestServer;
  let port: number;
  let dataDir: Awaited<ReturnType<typeof tempDataDir>>;
  let made: FilledProject;
  let tabs: Tabs<OpenPage>;
  const start = (): Promise<TestServer> =>
    startServer(dataDir.path, { MILLRACE_PORT: String(port) }, { readyMs: 90_000 });

  beforeAll(async () => {
    dataDir = await tempDataDir();
    port = await freePort();
    server = await start();
    made = await fillProject(server);
    tabs = await openTabs(server, pages, { pathOf: ({ path }) => path(made), apart: true });
    await tabs.each(async ({ page, of: { input, prepare, text = typed } }) => {
      await prepare?.(page);
      await input?.(page).fill(text);
    });
    // Filters are debounced.
    await delay(1_000);
  });
  afterAll(async () => {
    await tabs?.[Symbol.asyncDispose]();
    await server?.terminate();
    await dataDir[Symbol.asyncDispose]();
  });

  /** Expects the same page with its input and all data refetched, except `unbroken`, whose connection did not break. */
  const expectRecovered = (tabs: Tabs<OpenPage>, unbroken?: string): Promise<void> =>
    tabs.each(async (tab) => {
      await expectTyped(tab);
      const { replaced = '-' } = tab.of;
      await tab.expectFresh((path) => !path.includes(replaced) && path !== unbroken);
    });

  it.skipIf(!hasProc)('reports which part is unavailable while the event store is stopped, and recovers', async () => {
    tabs.forget();
    await whileStoreStands(server, () =>
      tabs.each(({ page }) => page.getByText('Part of the service is unavailable').waitFor()),
    );
    await tabs.each(({ page }) =>
      page.getByText('Part of the service is unavailable').waitFor({ state: 'detached', timeout: 60_000 }),
    );
    // The event stream does not depend on the store.
    await expectRecovered(tabs, '/api/projects/1/live_events');
    expect(tabs.problems(/status of 503/)).toEqual([]);
  });

  it('asks to sign in over the page when the session has ended, and continues', async () => {
    tabs.forget();
    const headers = { authorization: `Bearer ${personalKey}` };
    const ended = await fetch(`${server.url}/api/users/@me/sessions/`, { method: 'DELETE', headers });
    expect(ended.status).toBe(204);
    const overlay = (page: Page): Locator => page.getByRole('dialog', { name: 'Your session has ended' });
    await tabs.each(({ page }) => overlay(page).waitFor());
    // A session has the scopes of its key, and the page of erasures needs one that * does not include.
    const create = ['keys', 'create', 'every page', '--scope', '*', 'erasure:read'];
    const key = (await spawnCommand(create, { env: { MILLRACE_DATA_DIR: dataDir.path } })).stdout.trim();
    await tabs.each(async ({ page }) => {
      await overlay(page).getByLabel('Or sign in with a personal API key').fill(key);
      await overlay(page).getByRole('button', { name: 'Sign in' }).click();
      await overlay(page).waitFor({ state: 'detached' });
    });
    await expectRecovered(tabs);
    // All pages refetch at the same time: on a busy machine the store may be too slow to count as ready.
    expect(tabs.problems(/status of 401|status of 503 .*\/readyz/)).toEqual([]);
  });

  it('recovers after kill -9 of the service and keeps its input', async () => {
    await tabs.keep(({ route }) => kinds.has(route));
    tabs.forget();
    await server.kill();
    await tabs.each(({ page }) => page.getByText('The service is not responding').first().waitFor());
    server = await start();
    await expectRecovered(tabs);
    expect(tabs.problems(/ERR_|status of 50[023]/)).toEqual([]);
  });
});

async function expectTyped({ name, page, of: { input, text = typed } }: Tab<OpenPage>): Promise<void> {
  if (input === undefined) return;
  const isEditor = (await input(page).getAttribute('contenteditable')) !== null;
  const value = isEditor ? await input(page).innerText() : await input(page).inputValue();
  expect([name, value.trim()]).toEqual([name, text]);
}
