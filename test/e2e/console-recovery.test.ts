/**
 * Every page of the console, open while the event store stops and while the session ends, and one of each kind while the service is
 * killed: it says so, recovers without being loaded anew, and keeps what was typed. Skips without Chromium.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { fillProject, type FilledProject } from '../support/console-project.ts';
import { openTabs, type Tab, type Tabs } from '../support/console-tabs.ts';
import { hasProc, whileStoreStands } from '../support/processes.ts';
import { freePort, personalKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';

interface OpenPage {
  /** As console/src/router.tsx has it. */
  readonly route: string;
  readonly path: (made: FilledProject) => string;
  /** Where something is typed that is stored nowhere yet. */
  readonly input?: (page: Page) => Locator;
  readonly text?: string;
  /** The rest of a form, before that. */
  readonly prepare?: (page: Page) => Promise<void>;
  /** Part of the path of what the page asked for before something was typed, and no more since. */
  readonly replaced?: string;
}

/** A stream, a list, what is polled, forms. More of them leave the service little of two processors when it starts. */
const kinds = new Set(['live', 'events', 'status', 'transformations/$configId', 'imports/new', 'agreements']);

const typed = 'typed before';
/** Required ones have a star behind the name. */
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
    path: () => 'imports/new?step=connection&source=s3',
    // A secret is written down nowhere in the browser: it is lost when the form is.
    input: (page) => page.getByLabel(/secret access key/i),
  },
  {
    route: 'imports/new',
    path: ({ importConfig }) => `imports/new?step=preview&source=files&config=${importConfig}`,
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
  { route: 'events', path: () => 'events', input: field('Value') },
  { route: 'persons', path: () => 'persons', input: search('Search persons') },
  { route: 'persons/$distinctId', path: () => 'persons/ada' },
  { route: 'groups', path: () => 'groups', input: search('Search keys') },
  { route: 'warnings', path: () => 'warnings', input: search('Search warnings') },
  {
    route: 'dead-letters',
    path: ({ deadLetter }) => `dead-letters?letter=${deadLetter}`,
    input: field('Event'),
    text: '{"event": "typed before", "distinct_id": "ada"}',
  },
  { route: 'activity', path: () => 'activity', input: search('What happened') },
  { route: 'usage', path: () => 'usage' },
  {
    route: 'agreements',
    path: () => 'agreements?file=true',
    prepare: async (page) => {
      await field('Source')(page).fill('Old tool');
      await field('Events in all')(page).fill('1000');
    },
    input: field('Note'),
  },
  { route: 'keys', path: () => 'keys?create=true', input: field('What it is for') },
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

it('the table holds every page of the console', () => {
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
    // Filters are asked with once typing has settled.
    await delay(1_000);
  });
  afterAll(async () => {
    await tabs?.[Symbol.asyncDispose]();
    await server?.terminate();
    await dataDir[Symbol.asyncDispose]();
  });

  /** The same page, with what was typed, and all that it shows asked for anew: but `unbroken`, which did not break. */
  const expectWhole = (tabs: Tabs<OpenPage>, unbroken?: string): Promise<void> =>
    tabs.each(async (tab) => {
      await expectTyped(tab);
      const { replaced = '-' } = tab.of;
      await tab.expectFresh((path) => !path.includes(replaced) && path !== unbroken);
    });

  it.skipIf(!hasProc)('says which part does not work while the event store is stopped, and recovers', async () => {
    tabs.forget();
    await whileStoreStands(server, () =>
      tabs.each(({ page }) => page.getByText('A part of the service does not work').waitFor({ timeout: 60_000 })),
    );
    await tabs.each(({ page }) =>
      page.getByText('A part of the service does not work').waitFor({ state: 'detached', timeout: 60_000 }),
    );
    // The stream of events has nothing to do with the store.
    await expectWhole(tabs, '/api/projects/1/live_events');
    expect(tabs.problems(/status of 503/)).toEqual([]);
  });

  it('asks to sign in above the page when the session has ended, and goes on', async () => {
    tabs.forget();
    const headers = { authorization: `Bearer ${personalKey}` };
    const ended = await fetch(`${server.url}/api/users/@me/sessions/`, { method: 'DELETE', headers });
    expect(ended.status).toBe(204);
    const overlay = (page: Page): Locator => page.getByRole('dialog', { name: 'Your session has ended' });
    await tabs.each(({ page }) => overlay(page).waitFor({ timeout: 60_000 }));
    await tabs.each(async ({ page }) => {
      await overlay(page).getByLabel('Or sign in with a personal API key').fill(personalKey);
      await overlay(page).getByRole('button', { name: 'Sign in' }).click();
      await overlay(page).waitFor({ state: 'detached' });
    });
    await expectWhole(tabs);
    // All of the pages ask for everything at once: on a busy machine the store may be too slow then to be called ready.
    expect(tabs.problems(/status of 401|status of 503 .*\/readyz/)).toEqual([]);
  });

  it('is whole again by itself after kill -9 of the service, with what was typed', async () => {
    await tabs.keep(({ route }) => kinds.has(route));
    tabs.forget();
    await server.kill();
    await tabs.each(({ page }) => page.getByText('The service does not answer').first().waitFor({ timeout: 60_000 }));
    server = await start();
    await expectWhole(tabs);
    expect(tabs.problems(/ERR_|status of 50[023]/)).toEqual([]);
  });
});

async function expectTyped({ name, page, of: { input, text = typed } }: Tab<OpenPage>): Promise<void> {
  if (input === undefined) return;
  const isEditor = (await input(page).getAttribute('contenteditable')) !== null;
  const value = isEditor ? await input(page).innerText() : await input(page).inputValue();
  expect([name, value.trim()]).toEqual([name, text]);
}
