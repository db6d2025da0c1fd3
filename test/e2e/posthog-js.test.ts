/** The real posthog-js in a real browser, on a page of another origin than the service. Skips without Chromium. */
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, launchBrowser } from '../support/browser.ts';
import { apiGet, delay, projectKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';

const library = readFileSync(
  createRequire(import.meta.url).resolve('posthog-js/dist/array.full.no-external.js'),
  'utf8',
);

/** A headless browser counts as a bot for the library, which would send nothing: hence the opt-out of that filter. */
function page(apiHost: string): string {
  const options = { api_host: apiHost, persistence: 'memory', opt_out_useragent_filter: true };
  return `<!doctype html><title>Shop</title><h1>Shop</h1><script src="/posthog.js"></script><script>
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
    shop = createServer((incoming, answer) => {
      const script = incoming.url === '/posthog.js';
      answer.writeHead(200, { 'content-type': script ? 'text/javascript' : 'text/html' });
      answer.end(script ? library : page(server.url));
    });
    await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    shop.close();
    await server.terminate();
    await dataDir[Symbol.asyncDispose]();
  });

  it('a page view in the browser is stored with its URL', async () => {
    const url = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/pricing?utm_source=mail`;
    await using browser = await launchBrowser();
    const tab = await browser.newPage();
    await tab.goto(url);
    const deadline = Date.now() + 30_000;
    let stored: { event: string; properties: Record<string, unknown> }[] = [];
    while (stored.length === 0 && Date.now() < deadline) {
      await delay(250);
      const path = '/api/projects/@current/events/?event=%24pageview';
      stored = (await apiGet<{ results: typeof stored }>(server, path)).results;
    }
    expect(stored).toHaveLength(1);
    expect(stored[0]?.properties).toMatchObject({ $current_url: url, $lib: 'web' });
  });
});
