import { setTimeout as delay } from 'node:timers/promises';
import type { BrowserContext, Page } from 'playwright-core';
import { expect } from 'vitest';
import { launchBrowser } from './browser.ts';
import type { TestServer } from './server.ts';
import { adminCookie } from './session-cookie.ts';

/** A limit that only a failing test reaches: a page takes as long as a busy machine needs. */
const browserTimeoutMs = 120_000;

/** One open page of the console. */
export interface Tab<Of> {
  readonly name: string;
  readonly page: Page;
  readonly of: Of;
  /** It was not reloaded, has its heading, and every wanted path of the API that it showed at first was requested again. */
  expectFresh(isWanted: (path: string) => boolean): Promise<void>;
}

export interface Tabs<Of> extends AsyncDisposable {
  readonly all: readonly Tab<Of>[];
  /** Does the same in all of them at once, and tells where it failed. */
  each(work: (tab: Tab<Of>) => Promise<unknown>): Promise<void>;
  /** Closes the others. */
  keep(isKept: (of: Of) => boolean): Promise<void>;
  /** From here on: what was answered and what went wrong before no longer counts. */
  forget(): void;
  /** Errors in the consoles, exceptions and violations of the content security policy, but those expected. */
  problems(expected: RegExp): string[];
}

/** Pages that load at the same time: they share two processors with the service. */
const loadingMax = 4;
const freshWithinMs = 30_000;

interface TabsOptions<Of> {
  readonly pathOf: (of: Of) => string;
  /** Each with separate cookies and connections (a browser has six for all its tabs); otherwise they share a browser. */
  readonly apart?: boolean;
}

/** Opens pages of the first project, signed in. */
export async function openTabs<Of>(
  server: TestServer,
  all: readonly Of[],
  { pathOf, apart = false }: TabsOptions<Of>,
): Promise<Tabs<Of>> {
  await using cleanup = new AsyncDisposableStack();
  const browser = await launchBrowser();
  cleanup.defer(() => browser.close());
  const cookie = await adminCookie(server);
  const newContext = async (): Promise<BrowserContext> => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
    context.setDefaultTimeout(browserTimeoutMs);
    await context.addCookies([cookie]);
    return context;
  };
  const shared = apart ? undefined : await newContext();
  let opened: OpenTab<Of>[] = [];
  for (let from = 0; from < all.length; from += loadingMax) {
    const some = all.slice(from, from + loadingMax).map(async (of) => {
      return openTab(server, shared ?? (await newContext()), { of, path: pathOf(of) });
    });
    opened.push(...(await Promise.all(some)));
  }
  const owned = cleanup.move();
  return {
    get all() {
      return opened.map(({ tab }) => tab);
    },
    each: async (work) => {
      const faults = await Promise.all(opened.map(({ tab }) => faultOf(tab.name, work(tab))));
      expect(faults.flat()).toEqual([]);
    },
    keep: async (isKept) => {
      const others = opened.filter(({ tab }) => !isKept(tab.of));
      opened = opened.filter((each) => !others.includes(each));
      await Promise.all(others.map(({ tab }) => tab.page.close()));
    },
    forget: () => {
      for (const tab of opened) tab.forget();
    },
    problems: (expected) => opened.flatMap((tab) => tab.problems().filter((problem) => !expected.test(problem))),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function faultOf(name: string, work: Promise<unknown>): Promise<string[]> {
  try {
    await work;
    return [];
  } catch (error) {
    return [`${name}: ${error instanceof Error ? error.message : String(error)}`];
  }
}

interface OpenTab<Of> {
  readonly tab: Tab<Of>;
  forget(): void;
  problems(): string[];
}

async function openTab<Of>(
  server: TestServer,
  context: BrowserContext,
  { of, path }: { readonly of: Of; readonly path: string },
): Promise<OpenTab<Of>> {
  const page = await context.newPage();
  const problems: string[] = [];
  const answered = new Set<string>();
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(`${path}: ${message.text()} (${message.location().url})`);
  });
  page.on('dialog', (dialog) => {
    problems.push(`${path}: a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('pageerror', (error) => problems.push(`${path}: exception: ${error.message}`));
  page.on('response', (response) => {
    const { pathname } = new URL(response.url());
    if (response.ok() && response.request().method() === 'GET' && pathname.startsWith('/api/')) answered.add(pathname);
  });
  await page.goto(`${server.url}/console/projects/1/${path}`);
  // A dialog that opens with the page hides the rest from roles.
  await page.locator('h1').waitFor();
  await page.evaluate('window.openedOnce = true');
  // What the page asked for before the first trouble; none: it is not over yet.
  let wanted: readonly string[] | undefined;
  const expectFresh = async (isWanted: (path: string) => boolean): Promise<void> => {
    const missing = (): readonly string[] => (wanted ?? []).filter((each) => isWanted(each) && !answered.has(each));
    for (const deadline = Date.now() + freshWithinMs; missing().length > 0 && Date.now() < deadline;) await delay(100);
    if (missing().length > 0) throw new Error(`not asked for again: ${missing().join(', ')}`);
    expect(await page.evaluate<unknown>('window.openedOnce')).toBe(true);
    expect(await page.locator('h1').count()).toBe(1);
  };
  return {
    tab: { name: path, page, of, expectFresh },
    forget: () => {
      wanted ??= [...answered];
      answered.clear();
      problems.length = 0;
    },
    problems: () => problems,
  };
}
