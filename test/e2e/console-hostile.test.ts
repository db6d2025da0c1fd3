/**
 * Every page of the console for a project in which every name, key and value that users can set is markup, contains direction marks
 * or is 10 kB long. Skips without Chromium.
 */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { overflow } from '../support/console.ts';
import { endless, fillHostile, markup, name, turnedShown, type HostileProject } from '../support/console-hostile.ts';
import { capture } from '../support/console-project.ts';
import { openTabs, type Tab, type Tabs } from '../support/console-tabs.ts';
import { personalKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';

interface HostilePage {
  /** Path in console/src/router.tsx. */
  readonly route: string;
  readonly path: (made: HostileProject) => string;
  /** Opens parts of the page that are closed at first. */
  readonly open?: (page: Page) => Promise<unknown>;
  /** Texts that the page shows in addition to the name of the project; absent for pages with numbers only. */
  readonly shows?: readonly string[];
}

const id = encodeURIComponent(name);
const both = [markup, turnedShown];
const press = (button: string | RegExp) => (page: Page) => page.getByRole('button', { name: button }).first().click();

const pages: readonly HostilePage[] = [
  { route: 'home', path: () => 'home', shows: both },
  { route: 'transformations', path: () => 'transformations', shows: both },
  { route: 'transformations', path: () => 'transformations?add=built-in', shows: both },
  ...['settings', 'metrics', 'logs', 'errors', 'history'].map((tab) => ({
    route: 'transformations/$configId',
    path: ({ transformation }: HostileProject) => `transformations/${transformation}?tab=${tab}`,
    shows: both,
  })),
  {
    route: 'transformations/$configId',
    path: ({ transformation }) => `transformations/${transformation}?tab=test`,
    open: async (page) => {
      await page.getByRole('combobox', { name: 'Saved sample' }).selectOption({ index: 1 });
      await press('Run test')(page);
      await page
        .locator('#main')
        .getByText(/The event|stored|failed/)
        .first()
        .waitFor();
    },
    shows: both,
  },
  { route: 'imports', path: () => 'imports', shows: both },
  { route: 'imports', path: () => 'imports?tab=imports', shows: both },
  { route: 'imports', path: () => 'imports?tab=schedules', shows: both },
  { route: 'imports', path: () => 'imports?tab=schedules&set=new', shows: both },
  { route: 'imports', path: ({ scheduled }) => `imports?tab=schedules&set=${scheduled}`, shows: both },
  {
    route: 'imports',
    path: () => 'imports?tab=schedules',
    open: async (page) => {
      await press(/^Actions for/)(page);
      await page.getByRole('menuitem', { name: 'Delete' }).click();
      await page.getByRole('dialog').waitFor();
    },
    shows: both,
  },
  { route: 'imports/new', path: () => 'imports/new?step=connect&source=files' },
  {
    route: 'imports/new',
    path: ({ importConfig }) => `imports/new?step=map&source=files&config=${importConfig}`,
    shows: both,
  },
  {
    route: 'imports/new',
    path: ({ importConfig }) => `imports/new?step=review&config=${importConfig}`,
  },
  { route: 'imports/$configId', path: ({ importConfig }) => `imports/${importConfig}`, shows: both },
  ...['progress', 'check', 'rejected', 'reconciliation', 'preflight'].map((tab) => ({
    route: 'imports/$configId/runs/$runId',
    path: ({ importConfig, run }: HostileProject) => `imports/${importConfig}/runs/${run}?tab=${tab}`,
    shows: ['rejected', 'reconciliation'].includes(tab) ? both : [],
  })),
  { route: 'live', path: () => 'live', shows: both },
  { route: 'events', path: () => 'events', shows: both },
  {
    route: 'events',
    path: () => 'events?historical=false',
    open: (page) => page.getByRole('row').getByRole('button').first().click(),
    shows: both,
  },
  { route: 'persons', path: () => 'persons', shows: both },
  { route: 'persons/$distinctId', path: () => `persons/${id}`, shows: both },
  {
    route: 'groups',
    path: () => 'groups',
    open: (page) => page.getByRole('cell').getByRole('button').first().click(),
    shows: both,
  },
  { route: 'tracking-plan', path: () => 'tracking-plan', shows: both },
  { route: 'tracking-plan', path: () => 'tracking-plan?tab=violations', shows: both },
  { route: 'exports', path: () => 'exports' },
  { route: 'erasures', path: () => 'erasures' },
  { route: 'warnings', path: () => 'warnings' },
  { route: 'warnings', path: () => 'warnings?type=ignored_invalid_timestamp', shows: both },
  { route: 'dead-letters', path: () => 'dead-letters', shows: both },
  { route: 'dead-letters', path: ({ deadLetter }) => `dead-letters?letter=${deadLetter}`, shows: [markup] },
  { route: 'activity', path: () => 'activity', shows: both },
  { route: 'activity', path: ({ entry }) => `activity?entry=${entry}`, shows: both },
  { route: 'usage', path: () => 'usage' },
  { route: 'agreements', path: () => 'agreements', shows: both },
  { route: 'keys', path: () => 'keys', shows: [markup] },
  { route: 'settings', path: () => 'settings', shows: both },
  { route: 'settings', path: () => 'settings', open: press('New destination'), shows: both },
  { route: 'settings', path: () => 'settings', open: press(/^Delete$/), shows: both },
  { route: 'users', path: () => 'users', shows: both },
  { route: 'status', path: () => 'status' },
];

it('the table contains every page of the console', () => {
  const router = readFileSync(new URL('../../console/src/router.tsx', import.meta.url), 'utf8');
  const routes = [...router.matchAll(/getParentRoute: \(\) => projectRoute,\s+path: '([^']+)'/g)].map(
    ([, path]) => path,
  );
  expect(new Set(pages.map(({ route }) => route))).toEqual(new Set(routes));
});

describe.skipIf(!chromiumPath)('hostile names', () => {
  let server: TestServer;
  let dataDir: Awaited<ReturnType<typeof tempDataDir>>;
  let tabs: Tabs<HostilePage>;

  beforeAll(async () => {
    dataDir = await tempDataDir();
    server = await startServer(dataDir.path);
    const made = await fillHostile(server);
    tabs = await openTabs(server, pages, { pathOf: ({ path }) => path(made) });
    // The live page only shows events that arrive while it is open.
    const live = tabs.all.find(({ of: { route } }) => route === 'live')?.page;
    await live?.getByText('watching', { exact: true }).waitFor();
    await capture(server, [{ event: name, distinct_id: name, properties: { [name]: endless } }]);
  });
  afterAll(async () => {
    await tabs?.[Symbol.asyncDispose]();
    await server?.terminate();
    await dataDir[Symbol.asyncDispose]();
  });

  it('are shown as text on every page, without running scripts, changing direction, overflow or errors', async () => {
    await tabs.each(async ({ page, of: { open } }) => open?.(page));
    await tabs.each(({ page, of: { shows = [] } }) => Promise.all(shows.map((text) => waitForText(page, text))));
    await tabs.each(expectHarmless);
    expect(tabs.problems(/^$/)).toEqual([]);
  });

  it('that are too long or contain NUL are accepted and shown, or refused with field and reason', async () => {
    for (const [what, method, path, charsMax, body] of nameable) {
      const answers = [
        await outcome(server, method, path, body(endless)),
        await outcome(server, method, path, body('a\u0000b')),
      ];
      const tooLong = charsMax === undefined ? 'accepted' : `no more than ${charsMax} characters`;
      expect([what, answers]).toEqual([what, [expect.stringContaining(tooLong), 'accepted']]);
    }
    const page = tabs.all[0]?.page;
    await page?.reload();
    await page?.getByRole('button', { name: /^Project: a␀b/ }).waitFor();
  });

  it('of uploaded files are converted to names that are safe in every file system', async () => {
    const url = `${server.url}/api/projects/1/import_files/?name=${encodeURIComponent(`../${name}/a\u0000b.ndjson`)}&offset=0`;
    const headers = { authorization: `Bearer ${personalKey}`, 'content-type': 'application/octet-stream' };
    const answer = await fetch(url, { method: 'POST', headers, body: '{}\n' });
    expect([answer.status, await answer.json()]).toEqual([
      201,
      expect.objectContaining({ name: expect.stringMatching(/^[\w.-]+$/) }),
    ]);
  });
});

/** Names longer than `charsMax` are refused; without it they are truncated. */
type Nameable = readonly [
  what: string,
  method: string,
  path: string,
  charsMax: number | undefined,
  body: (text: string) => object,
];

const agreement = { source: 'a', method: 'b', total_events: 1, events_per_second: 1 };
const nameable: readonly Nameable[] = [
  ['project', 'PATCH', '/api/projects/1/', 200, (text) => ({ name: text })],
  ['user', 'POST', '/api/users/', 150, (text) => ({ email: 'nul@example.com', role: 'viewer', first_name: text })],
  ['key', 'POST', '/api/personal_api_keys/', 40, (text) => ({ label: text, scopes: ['query:read'] })],
  [
    'sample',
    'POST',
    '/api/projects/1/sample_events/',
    200,
    (text) => ({ name: text, event: { event: 'a', distinct_id: 'b' } }),
  ],
  ['agreement', 'POST', '/api/projects/1/historical_migrations/', 1000, (text) => ({ ...agreement, note: text })],
  [
    'plugin',
    'POST',
    '/api/projects/1/plugins/',
    undefined,
    (text) => ({
      files: {
        'plugin.json': JSON.stringify({ name: `Plugin ${text}` }),
        'index.js': 'export function processEvent(event) { return event; }',
      },
    }),
  ],
  ['config', 'PATCH', '/api/projects/1/pipeline_transformation_configs/1/', 1000, (text) => ({ description: text })],
];

/** Returns `accepted`, or the status and detail of the error. */
async function outcome(server: TestServer, method: string, path: string, body: object): Promise<string> {
  const headers = { authorization: `Bearer ${personalKey}`, 'content-type': 'application/json' };
  const answer = await fetch(server.url + path, { method, headers, body: JSON.stringify(body) });
  if (answer.ok) return 'accepted';
  const { detail } = (await answer.json()) as { detail: string };
  return `${answer.status} ${detail}`;
}

/** Waits for a text in the page or in the panel over it. */
async function waitForText(page: Page, text: string): Promise<void> {
  const place = page.locator('#main, [role=dialog]').getByText(text, { exact: false });
  await place.first().waitFor({ state: 'attached', timeout: 60_000 });
}

const widths = [1280, 360] as const;

async function expectHarmless({ page }: Tab<HostilePage>): Promise<void> {
  const faults: string[] = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 });
    faults.push(...(await overflow(page)).map((fault) => `${width} px: ${fault}`));
  }
  faults.push(...(await page.evaluate<string[]>(rawText)));
  if ((await page.evaluate<unknown>('window.__hit')) !== undefined) faults.push('a script ran');
  if ((await page.locator('img[src="x"]').count()) > 0) faults.push('markup became an element');
  if (faults.length > 0) throw new Error(faults.join('\n'));
}

/** Finds texts, titles and labels with raw direction marks or NUL; only text being edited may contain them. */
const rawText = `(() => {
  const hidden = /[\\u0000\\u202a-\\u202e\\u2066-\\u2069]/;
  const found = [];
  const walk = (node) => {
    if (node.nodeType === 3 && hidden.test(node.data) && node.parentElement?.localName !== 'textarea') found.push('raw text: ' + node.parentElement.outerHTML.slice(0, 200));
    if (node.nodeType === 1) {
      for (const attribute of ['aria-label', 'title']) {
        if (hidden.test(node.getAttribute(attribute) ?? '')) found.push('raw ' + attribute + ': ' + node.outerHTML.slice(0, 200));
      }
      // The editor contains the text and highlights such characters.
      if (node.shadowRoot) walk(node.shadowRoot);
    }
    for (const child of node.childNodes) walk(child);
  };
  walk(document.documentElement);
  if (hidden.test(document.title)) found.push('raw title of the page');
  return found;
})()`;
