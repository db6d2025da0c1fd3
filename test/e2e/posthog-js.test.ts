/** The real posthog-js in a real browser, on a page of another origin than the service. Skips without Chromium. */
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, launchBrowser } from '../support/browser.ts';
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
    shop = createServer((incoming, answer) => {
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
      const url = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/${build}?utm_source=mail`;
      await using browser = await launchBrowser();
      const tab = await browser.newPage();
      const said: string[] = [];
      tab.on('console', (message) => void said.push(message.text()));
      tab.on('pageerror', (error) => void said.push(error.message));
      await tab.goto(url);
      const stored = await pageViews(url);
      expect(stored).toHaveLength(1);
      expect(stored[0]).toMatchObject({ $lib: 'web' });
      expect(said).toEqual([]);
    },
  );

  async function pageViews(url: string): Promise<readonly Record<string, unknown>[]> {
    const deadline = Date.now() + 30_000;
    for (;;) {
      const path = '/api/projects/@current/events/?event=%24pageview';
      const { results } = await apiGet<{ results: { properties: Record<string, unknown> }[] }>(server, path);
      const found = results.map(({ properties }) => properties).filter(({ $current_url }) => $current_url === url);
      if (found.length > 0 || Date.now() > deadline) return found;
      await delay(250);
    }
  }
});
