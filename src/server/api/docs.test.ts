import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gunzipSync } from 'node:zlib';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { chromiumPath, launchBrowser } from '../../../test/support/browser.ts';
import { serveDocs } from './docs.ts';
import { openApiRoutes } from './openapi.ts';
import { personalApiKeyRoutes } from './personal-api-keys.ts';
import { projectRoutes } from './projects.ts';

let app: TestApp;
let url: string;
beforeAll(async () => {
  app = await startTestApp(
    (db, { auth, clock }) => {
      const { forgetKey, forgetProject } = auth;
      const routes = [
        ...projectRoutes({ db, clock, forgetProject }),
        ...personalApiKeyRoutes({ db, clock, forgetKey }),
      ];
      return [...routes, ...openApiRoutes(routes)];
    },
    { registerPages: serveDocs },
  );
  url = await app.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => app[Symbol.asyncDispose]());

describe('the API reference page', () => {
  it('is served with and without slash under a policy that allows nothing from elsewhere', async () => {
    for (const path of ['/api/docs', '/api/docs/']) {
      const answer = await app.inject({ url: path });
      expect(answer.statusCode).toBe(200);
      expect(answer.headers['content-security-policy']).toContain("default-src 'none'; script-src 'self';");
      expect(answer.body).not.toMatch(/https?:/);
    }
  });

  it('serves its script plain, compressed, or not at all when the browser has it', async () => {
    const plain = await app.inject({ url: '/api/docs/scalar.js' });
    expect(plain.rawPayload.length).toBeGreaterThan(1_000_000);
    const packed = await app.inject({ url: '/api/docs/scalar.js', headers: { 'accept-encoding': 'gzip, br' } });
    expect(gunzipSync(packed.rawPayload).equals(plain.rawPayload)).toBe(true);
    const headers = { 'if-none-match': String(plain.headers['etag']) };
    expect((await app.inject({ url: '/api/docs/scalar.js', headers })).statusCode).toBe(304);
  });

  it.skipIf(!chromiumPath)('shows the operations in a browser without a request to anybody else', async () => {
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      const elsewhere: string[] = [];
      const blocked: string[] = [];
      page.on('request', (request) => {
        if (!request.url().startsWith(url) && !request.url().startsWith('data:')) elsewhere.push(request.url());
      });
      page.on('console', (message) => {
        if (/content security policy/i.test(message.text())) blocked.push(message.text());
      });
      await page.goto(`${url}/api/docs`);
      await page.getByText('List the projects that the key can access').first().waitFor();
      expect({ elsewhere, blocked }).toEqual({ elsewhere: [], blocked: [] });
    } finally {
      await browser.close();
    }
  });
});
