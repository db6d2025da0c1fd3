/** The layout around every page of the console in a real browser. Skips without Chromium. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { lookFaults, startConsole, type ConsoleUnderTest } from '../support/console.ts';
import { sessionCookie } from '../support/session-cookie.ts';
import { hasProc, whileStoreStands } from '../support/processes.ts';
import { freePort, personalKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';
import { watchCpu } from '../support/tab-cpu.ts';

describe.skipIf(!chromiumPath)('the console', () => {
  let under: ConsoleUnderTest;
  let server: TestServer;
  let dataDir: Awaited<ReturnType<typeof tempDataDir>>;
  let port: number;
  const start = (): Promise<TestServer> => startServer(dataDir.path, { MILLRACE_PORT: String(port) });

  beforeAll(async () => {
    dataDir = await tempDataDir();
    port = await freePort();
    server = await start();
    under = await startConsole({ server });
  });
  afterAll(async () => {
    await under?.[Symbol.asyncDispose]();
    await server?.terminate();
    await dataDir[Symbol.asyncDispose]();
  });

  it('opens for a signed-in user at the home page of the first project', async () => {
    await under.page.goto(server.url);
    await under.page.waitForURL('**/console/projects/1/home');
    await under.page.getByRole('heading', { level: 1 }).waitFor();
    expect(under.problems()).toEqual([]);
  });

  it('every page opens by its URL, sets the tab title and logs no error', async () => {
    await under.open('status');
    const links = await under.page.getByRole('navigation', { name: 'Pages' }).getByRole('link').all();
    const addresses = await Promise.all(links.map((link) => link.getAttribute('href')));
    expect(addresses.length).toBe(19);
    for (const address of addresses) {
      await under.page.goto(server.url + String(address));
      await under.page.getByRole('heading', { level: 1 }).waitFor();
      await expect.poll(() => under.page.title()).toMatch(/^\S.* · Millrace$/);
    }
    expect(under.problems()).toEqual([]);
  });

  it('has a navigation for narrow screens and no accessibility faults in both themes', async () => {
    await under.open('warnings');
    expect(await lookFaults(under, 'shell')).toEqual([]);
    await under.page.setViewportSize({ width: 360, height: 740 });
    await under.page.getByRole('button', { name: 'Open navigation' }).click();
    await under.page.getByRole('dialog').getByRole('link', { name: 'Keys' }).click();
    await under.page.waitForURL('**/keys');
    await under.page.getByRole('dialog').waitFor({ state: 'detached' });
    await under.page.setViewportSize({ width: 1280, height: 800 });
  });

  it('can be used by keyboard: palette, shortcuts, skip link, focus at the start of a new page', async () => {
    const { page } = under;
    await under.open('warnings');
    await page.keyboard.press('Tab');
    expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Skip to content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').fill('failed');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/dead-letters');
    await expect.poll(() => page.evaluate<string>('document.activeElement.id')).toBe('main');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    expect(await lookFaults(under, 'shortcuts')).toEqual([]);
    await page.keyboard.press('Escape');
  });

  it('finds persons and events by what was typed, and unknown paths keep the navigation', async () => {
    const { page } = under;
    await under.open('warnings');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').fill('ada@example.com');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/persons?q=ada%40example.com');
    await under.open('no-such-page');
    await page.getByRole('heading', { name: 'Page not found' }).waitFor();
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    expect(await lookFaults(under, 'not-found')).toEqual([]);
  });

  it('keeps the selected theme, also before the first paint', async () => {
    const { page } = under;
    await under.open('warnings');
    await page.getByRole('button', { name: /^Theme/ }).click();
    await page.getByRole('menuitem', { name: 'Dark' }).click();
    await page.reload();
    expect(await page.evaluate<string>('document.documentElement.dataset.theme')).toBe('dark');
    await page.getByRole('button', { name: 'Theme: Dark' }).click();
    await page.getByRole('menuitem', { name: 'System' }).click();
    expect(under.problems()).toEqual([]);
  });

  it('shows its first page within a second of CPU time', async () => {
    const spent: number[] = [];
    for (let load = 0; load < 3; load += 1) {
      // A new tab each time: navigation resets the counter.
      const page = await under.context.newPage();
      const cpu = await watchCpu(page);
      await page.goto(`${under.server.url}/console/projects/1/warnings`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      spent.push(await cpu());
      await page.close();
    }
    expect(Math.min(...spent)).toBeGreaterThan(0);
    expect(Math.min(...spent)).toBeLessThan(1000);
  });

  it('shows names with markup, direction marks or great length as text', async () => {
    const name = `<img src=x onerror="document.title='owned'">\u202egpj.exe ${'long '.repeat(20)}`;
    const headers = { authorization: `Bearer ${personalKey}`, 'content-type': 'application/json' };
    const rename = (to: string): Promise<Response> =>
      fetch(`${server.url}/api/projects/1/`, { method: 'PATCH', headers, body: JSON.stringify({ name: to }) });
    expect((await rename(name)).status).toBe(200);
    await under.open('warnings');
    await under.page.getByRole('button', { name: /^Project/ }).click();
    await under.page.getByRole('menuitem').getByText('⟨U+202E⟩gpj.exe').waitFor();
    expect(await under.page.locator('img[src="x"]').count()).toBe(0);
    await under.page.keyboard.press('Escape');
    // The closing menu stays for a frame or two.
    await under.page.getByRole('menu').waitFor({ state: 'detached' });
    expect(await lookFaults(under, 'hostile')).toEqual([]);
    await rename('First');
  });

  it.skipIf(!hasProc)('reports which part is unavailable while the store is stopped, and recovers', async () => {
    await under.open('warnings');
    await whileStoreStands(server, () => under.page.getByText('Part of the service is unavailable').waitFor());
    await under.page.getByText('Part of the service is unavailable').waitFor({ state: 'detached', timeout: 60_000 });
    expect(under.problems().filter((problem) => !/status of 503/.test(problem))).toEqual([]);
  });

  it('asks to sign in again over the page when the session ends, and keeps the input', async () => {
    const { page, context } = under;
    await under.open('warnings');
    await page.getByRole('searchbox').fill('typed before');
    await context.clearCookies();
    const overlay = page.getByRole('dialog', { name: 'Your session has ended' });
    await overlay.waitFor();
    await overlay.getByLabel('Or sign in with a personal API key').fill('phx_wrong');
    await overlay.getByRole('button', { name: 'Sign in' }).click();
    await overlay.getByRole('alert').waitFor();
    await overlay.getByLabel('Or sign in with a personal API key').fill(personalKey);
    await overlay.getByRole('button', { name: 'Sign in' }).click();
    await overlay.waitFor({ state: 'detached' });
    expect(await page.getByRole('searchbox').inputValue()).toBe('typed before');
    expect(under.problems().filter((problem) => !/status of (401|403|503)/.test(problem))).toEqual([]);
  });

  it('detects a sign-in with a link in another tab', async () => {
    const { page, context } = under;
    await context.clearCookies();
    await page.goto(`${server.url}/console/projects/1/warnings`);
    await page.getByRole('heading', { name: 'Sign in to Millrace' }).waitFor();
    await context.addCookies([await sessionCookie(server, personalKey)]);
    await page.getByRole('heading', { name: 'Warnings' }).waitFor();
    expect(under.problems().filter((problem) => !/status of (401|403|503)/.test(problem))).toEqual([]);
  });

  it('ends the session when the user signs out', async () => {
    const { page } = under;
    await under.open('warnings');
    await page.getByRole('button', { name: /^User/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click();
    await page.getByRole('heading', { name: 'Sign in to Millrace' }).waitFor();
    expect((await page.request.get(`${server.url}/api/users/@me`)).status()).toBe(401);
  });

  // Last: a service ends with the test that started it.
  it('reports that the service is unreachable, and recovers with the input when it is back', async () => {
    const { page, context } = under;
    await context.addCookies([await sessionCookie(server, personalKey)]);
    await under.open('warnings');
    await page.getByRole('searchbox').fill('typed before');
    under.problems();
    let asked = 0;
    page.on('request', (request) => (asked += Number(request.url().includes('/readyz'))));
    const awayAt = performance.now();
    await server.terminate();
    await page.getByText('The service is not responding').first().waitFor();
    server = await start();
    // Polls every 1.5 seconds, not continuously.
    expect(asked).toBeLessThan(5 + (performance.now() - awayAt) / 500);
    await page.getByText('The service is not responding').first().waitFor({ state: 'detached', timeout: 60_000 });
    expect(await page.getByRole('searchbox').inputValue()).toBe('typed before');
    // The browser logs failed connections and responses of the starting service, and nothing else.
    expect(under.problems().filter((problem) => !/ERR_CONNECTION|ERR_EMPTY|status of 503/.test(problem))).toEqual([]);
  });
});
