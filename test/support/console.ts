import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { BrowserContext, Page } from 'playwright-core';
import { launchBrowser } from './browser.ts';
import { adminCookie } from './session-cookie.ts';
import { startServer, tempDataDir, type TestServer } from './server.ts';

export interface ConsoleUnderTest extends AsyncDisposable {
  readonly server: TestServer;
  readonly context: BrowserContext;
  readonly page: Page;
  /** Opens a page of the first project, `warnings?severity=error`, and waits for its heading. */
  open(path: string): Promise<void>;
  /** Errors in the console, exceptions and violations of the content security policy so far; emptied by reading. */
  problems(): string[];
}

interface ConsoleOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** An existing directory, which stays when the console ends; by default a temporary one. */
  readonly server?: TestServer;
  /** Without a session. */
  readonly signedOut?: boolean;
}

/** A real service with a real browser before it, signed in: `await using console = await startConsole()`. Needs Chromium. */
export async function startConsole({
  env = {},
  server: given,
  signedOut,
}: ConsoleOptions = {}): Promise<ConsoleUnderTest> {
  await using cleanup = new AsyncDisposableStack();
  const server = given ?? (await ownServer(cleanup, env));
  const browser = await launchBrowser();
  cleanup.defer(() => browser.close());
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
  if (signedOut !== true) await context.addCookies([await adminCookie(server)]);
  const page = await context.newPage();
  const problems = collectProblems(page);
  const owned = cleanup.move();
  return {
    server,
    context,
    page,
    open: async (path) => {
      await page.goto(`${server.url}/console/projects/1/${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
    },
    problems: () => problems.splice(0),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function ownServer(cleanup: AsyncDisposableStack, env: Readonly<Record<string, string>>): Promise<TestServer> {
  const dataDir = cleanup.use(await tempDataDir());
  const server = await startServer(dataDir.path, env);
  cleanup.defer(async () => void (await server.terminate()));
  return server;
}

function collectProblems(page: Page): string[] {
  const problems: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => problems.push(`exception: ${error.message}`));
  page.on('crash', () => problems.push('the page crashed'));
  return problems;
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface AxeNode {
  readonly target: readonly unknown[];
  readonly failureSummary?: string;
}

/** What axe finds against WCAG 2.2 AA on the page as it is now. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  // Half a megabyte, which stays until the page is reloaded.
  if (!(await page.evaluate<boolean>(`'axe' in window`))) await page.evaluate(axe);
  const { violations } = await page.evaluate<{
    violations: readonly { readonly id: string; readonly nodes: readonly AxeNode[] }[];
  }>(
    `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'], resultTypes: ['violations'] })`,
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ target, failureSummary = '' }) => `${id}: ${target.join(' ')} ${failureSummary.replaceAll(/\s+/g, ' ')}`,
    ),
  );
}

/** axe looks at each theme and at each width once: it takes seconds, and what it finds is of the one or of the other. */
const looks = [
  { colorScheme: 'light', width: 1280, axe: true },
  { colorScheme: 'dark', width: 1280, axe: false },
  { colorScheme: 'light', width: 360, axe: false },
  { colorScheme: 'dark', width: 360, axe: true },
] as const;

/**
 * Everything that is wrong with how the open page looks, in both themes, wide and at 360 px: what axe finds, what reaches beyond the
 * screen, what the console says. With MILLRACE_SCREENSHOTS set to a folder, a picture of each goes there.
 * @param name of the pictures
 */
export async function lookFaults(
  console: Pick<ConsoleUnderTest, 'page' | 'problems'>,
  name: string,
): Promise<string[]> {
  const { page, problems } = console;
  const faults: string[] = [];
  const pictures = process.env['MILLRACE_SCREENSHOTS'];
  for (const { colorScheme, width, axe: withAxe } of looks) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: width === 360 ? 740 : 800 });
    const seen = withAxe ? await accessibilityFaults(page) : [];
    const found = [...seen, ...(await overflow(page)), ...problems()];
    faults.push(...found.map((fault) => `${colorScheme} ${width} px: ${fault}`));
    if (pictures !== undefined) await page.screenshot({ path: join(pictures, `${name}-${colorScheme}-${width}.png`) });
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1280, height: 800 });
  return faults;
}

const settleMs = 5_000;

/**
 * The page itself never scrolls sideways; tables and code do so in their own frames. What is measured by the page, such as a chart,
 * follows another width with one of the next frames.
 */
export async function overflow(page: Page): Promise<string[]> {
  for (const deadline = Date.now() + settleMs; ; await delay(50)) {
    const beyond = await page.evaluate<number>(
      `Math.max(...[document.documentElement, document.getElementById('main')].map((each) => (each ? each.scrollWidth - each.clientWidth : 0)))`,
    );
    if (beyond <= 0) return [];
    if (Date.now() > deadline) return [`the page is ${beyond} px wider than the screen`];
  }
}
