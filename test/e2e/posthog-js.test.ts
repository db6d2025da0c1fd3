/** The real posthog-js in a real browser, on a page of another origin than the service. Skips without Chromium. */
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, launchBrowser } from '../support/browser.ts';
import { readBlocks } from '../support/page-blocks.ts';
import { apiGet, projectKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';

/** The whole library in one script. */
const wholeLibrary = readFileSync(
  createRequire(import.meta.url).resolve('posthog-js/dist/array.full.no-external.js'),
  'utf8',
);

/** What `import posthog from 'posthog-js'` brings: it fetches more parts from the service as it thinks fit. */
async function npmLibrary(): Promise<string> {
  const contents = `import posthog from 'posthog-js'; window.posthog = posthog;`;
  const stdin = { contents, resolveDir: import.meta.dirname };
  const { outputFiles } = await build({ stdin, bundle: true, write: false, platform: 'browser' });
  return outputFiles[0]?.text ?? '';
}

/** A headless browser counts as a bot for the library, which would send nothing: hence the opt-out of that filter. */
function page(apiHost: string, script: string): string {
  const options = { api_host: apiHost, persistence: 'memory', opt_out_useragent_filter: true };
  return `<!doctype html><link rel="icon" href="data:," /><title>Shop</title><h1>Shop</h1>
  <script src="${script}"></script><script>
    posthog.init(${JSON.stringify(projectKey)}, ${JSON.stringify(options)});
  </script>`;
}

/** The guide's own snippet in a page, with `api_host` and the key put in and more options on request: nothing else is changed. */
function snippetPage(apiHost: string, options = ''): string {
  const blocks = readBlocks('docs/guides/client-libraries.md');
  const snippet = blocks.find(({ language }) => language === 'html')?.text ?? '';
  const head = snippet
    .replace('https://events.example.com', apiHost)
    .replace('<project key>', projectKey)
    .replace(" defaults: '", ` ${options} defaults: '`);
  return `<!doctype html><html><head><link rel="icon" href="data:," /><title>Shop</title>${head}</head>
  <body><h1>Shop</h1><button id="buy">Buy the lamp</button></body></html>`;
}

/** What a page turns on that is more than the usual. */
const everything = [
  'capture_exceptions: true,',
  'capture_dead_clicks: true,',
  'capture_heatmaps: true,',
  'capture_performance: { web_vitals: true, network_timing: true },',
  'disable_web_experiments: false,',
  'disable_session_recording: false,',
  'session_recording: { captureCanvas: { recordCanvas: true } },',
].join(' ');

/** The library sends nothing for a bot, and knows a headless browser by its name. */
const namedBrowser =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Safari/537.36';

/** A tab, what its console said, and what the service refused it. */
async function openTab(browser: Browser): Promise<{ tab: Page; said: string[]; refused: string[] }> {
  const context = await browser.newContext({ userAgent: namedBrowser });
  await context.addInitScript(() => {
    Object.defineProperty(navigator, 'webdriver', { get: () => false });
    // Names the brand, too.
    Object.defineProperty(navigator, 'userAgentData', { get: () => undefined });
  });
  const tab = await context.newPage();
  const [said, refused]: [string[], string[]] = [[], []];
  tab.on('console', (message) => void said.push(message.text()));
  tab.on('pageerror', (error) => void said.push(error.message));
  tab.on('requestfailed', (request) => void refused.push(request.url()));
  tab.on('response', (answer) => {
    if (answer.status() >= 400) refused.push(`${answer.status()} ${answer.url()}`);
  });
  return { tab, said, refused };
}

interface StoredEvent {
  readonly distinct_id: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

describe.skipIf(!chromiumPath)('posthog-js in Chromium', () => {
  let server: TestServer;
  let shop: Server;
  let dataDir: Awaited<ReturnType<typeof tempDataDir>>;

  beforeAll(async () => {
    dataDir = await tempDataDir();
    server = await startServer(dataDir.path);
    const scripts = new Map([
      ['/whole.js', wholeLibrary],
      ['/npm.js', await npmLibrary()],
    ]);
    const snippets = new Map([
      ['/snippet', snippetPage(server.url)],
      ['/everything', snippetPage(server.url, everything)],
    ]);
    shop = createServer((incoming, answer) => {
      const snippet = snippets.get(incoming.url ?? '');
      if (snippet !== undefined) return void answer.writeHead(200, { 'content-type': 'text/html' }).end(snippet);
      const script = scripts.get(incoming.url ?? '');
      answer.writeHead(200, { 'content-type': script === undefined ? 'text/html' : 'text/javascript' });
      const library = incoming.url?.startsWith('/npm') === true ? '/npm.js' : '/whole.js';
      answer.end(script ?? page(server.url, library));
    });
    await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    shop.close();
    await server.terminate();
    await dataDir[Symbol.asyncDispose]();
  });

  it.each(['whole', 'npm'])(
    'a page view with the %s library is stored with its URL, the console stays empty',
    async (build) => {
      const url = `${shopUrl()}/${build}?utm_source=mail`;
      await using browser = await launchBrowser();
      const tab = await browser.newPage();
      const said: string[] = [];
      tab.on('console', (message) => void said.push(message.text()));
      tab.on('pageerror', (error) => void said.push(error.message));
      await tab.goto(url);
      const stored = await storedOf('$pageview', url);
      expect(stored).toHaveLength(1);
      expect(stored[0]?.properties).toMatchObject({ $lib: 'web' });
      expect(said).toEqual([]);
    },
  );

  it('the HTML snippet, with only its address changed: page views, clicks and a person, the console stays empty', async () => {
    const url = `${shopUrl()}/snippet`;
    await using browser = await launchBrowser();
    const { tab, said, refused } = await openTab(browser);
    await tab.goto(url);
    await tab.evaluate(`posthog.identify('ada', { plan: 'pro' })`);
    await tab.click('#buy');
    const flags = await tab.evaluate<unknown>(
      `new Promise((resolve) => posthog.onFeatureFlags((names) => resolve(names)))`,
    );
    expect(flags).toEqual([]);
    expect(await tab.evaluate(`!posthog.isFeatureEnabled('beta')`)).toBe(true);
    const [view] = await storedOf('$pageview', url);
    const [click] = await storedOf('$autocapture', url);
    const [identified] = await storedOf('$identify', url);
    expect(view?.properties).toMatchObject({ $lib: 'web', $config_defaults: '2026-01-30' });
    expect(click).toMatchObject({ distinct_id: 'ada', properties: { $event_type: 'click', $el_text: 'Buy the lamp' } });
    expect(identified).toMatchObject({ distinct_id: 'ada', properties: { $anon_distinct_id: view?.distinct_id } });
    expect([said, refused]).toEqual([[], []]);
  });

  it('a page that enables all features of the library loads every part without an error in its console', async () => {
    const url = `${shopUrl()}/everything`;
    await using browser = await launchBrowser();
    const { tab, said, refused } = await openTab(browser);
    const asked: string[] = [];
    tab.on('response', (answer) => void asked.push(new URL(answer.url()).pathname));
    await tab.goto(url);
    await storedOf('$pageview', url);
    const none = await tab.evaluate<unknown>(`Promise.all([
      new Promise((resolve) => posthog.getSurveys(resolve, true)),
      new Promise((resolve) => posthog.getEarlyAccessFeatures(resolve, true)),
      posthog.startSessionRecording(true),
    ])`);
    expect(none).toEqual([[], [], undefined]);
    await tab.evaluate(`posthog.captureException(new Error('the lamp is out'))`);
    expect((await storedOf('$exception', url))[0]?.properties).toMatchObject({ $lib: 'web' });
    expect(asked.map((path) => basename(path))).toEqual(
      expect.arrayContaining([
        'exception-autocapture.js',
        'dead-clicks-autocapture.js',
        'web-vitals-with-attribution.js',
      ]),
    );
    expect([said, refused]).toEqual([[], []]);
  });

  function shopUrl(): string {
    return `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
  }

  /** Events of the page at the address, waited for. */
  async function storedOf(event: string, url: string): Promise<readonly StoredEvent[]> {
    const deadline = Date.now() + 120_000;
    for (;;) {
      const path = `/api/projects/@current/events/?event=${encodeURIComponent(event)}`;
      const { results } = await apiGet<{ results: StoredEvent[] }>(server, path);
      const found = results.filter(({ properties }) => properties['$current_url'] === url);
      if (found.length > 0 || Date.now() > deadline) return found;
      await delay(250);
    }
  }
});
