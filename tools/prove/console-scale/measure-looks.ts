import { mkdir } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import { sessionCookie } from '../../../test/support/session-cookie.ts';
import type { Service } from '../../compat/service.ts';
import { judgePage, pictureOf, screens, type Judgement } from './judge-page.ts';
import { median, ms, tableHead, tableRow } from './tables.ts';
import type { PageLook } from './page-list.ts';

export const interactiveMsMax = 1_000;
const firstLoadBytesMax = 250_000;
/** Text that the service sends without the console: what the machine and the browser take for any page. */
const baseline = { path: 'baseline: /livez', shown: 'body' };

interface LooksOptions {
  readonly browser: Browser;
  readonly service: Service;
  readonly pages: readonly PageLook[];
  /** Directory for pictures. */
  readonly pictures: string | undefined;
}

interface Target {
  readonly look: Pick<PageLook, 'path' | 'shown'>;
  readonly url: string;
  readonly isSignedOut?: boolean;
}

/** Judges each page in both themes, wide and on a phone; returns whether nothing was wrong. */
export async function measureLooks({ browser, service, pages, pictures }: LooksOptions): Promise<boolean> {
  if (pictures !== undefined) await mkdir(pictures, { recursive: true });
  const cookie = await sessionCookie(service, service.key);
  const heads = ['page', 'interactive, ms: median, best', 'CPU, ms', 'first load, kB: files, all', 'axe', 'CSP'];
  tableHead(...heads, 'console errors', 'beyond 390 px');
  const faults: string[] = [];
  for (const { look, url, isSignedOut } of targetsOf(service, pages)) {
    const seen: Judgement[] = [];
    for (const screen of screens) {
      const picture = pictureOf(pictures, look.path, screen);
      const session = isSignedOut === true ? {} : { cookie };
      const judged = await judgePage({
        browser,
        ...session,
        url,
        look,
        screen,
        isBaseline: look === baseline,
        ...(picture && { picture }),
      });
      seen.push(judged);
      for (const fault of [...judged.axe, ...judged.csp, ...judged.errors, ...judged.overflow])
        faults.push(`${look.path}, ${screen.colorScheme}, ${screen.width} px: ${fault}`);
    }
    faults.push(...budgetFaults(look.path, seen));
    showRow(look.path, seen);
  }
  console.log(['', `${faults.length} faults`, ...faults, ''].join('\n'));
  return faults.length === 0;
}

function targetsOf(service: Service, pages: readonly PageLook[]): readonly Target[] {
  const base = `${service.url}/console/`;
  const outside: readonly Target[] = [
    { look: baseline, url: `${service.url}/livez` },
    { look: { path: 'sign-in', shown: 'form input' }, url: `${service.url}/`, isSignedOut: true },
    { look: { path: 'the first project, from /console/', shown: '#main figure canvas' }, url: base },
    { look: { path: 'an unknown page', shown: 'h1' }, url: `${base}projects/1/nowhere` },
  ];
  return [...outside, ...pages.map((look) => ({ look, url: `${base}projects/1/${look.path}` }))];
}

/** Other programs on the machine spoil some loads, so the best of them counts. */
function budgetFaults(path: string, seen: readonly Judgement[]): string[] {
  const best = Math.min(...seen.map(({ interactiveMs }) => interactiveMs));
  const bytes = Math.max(...seen.map((each) => each.bytes));
  return [
    ...(best > interactiveMsMax ? [`${path}: interactive after ${ms(best)} ms`] : []),
    ...(bytes > firstLoadBytesMax ? [`${path}: ${kb(bytes)} kB on first load`] : []),
  ];
}

function showRow(path: string, seen: readonly Judgement[]): void {
  const most = (of: (each: Judgement) => number): number => Math.max(...seen.map(of));
  const sum = (of: (each: Judgement) => readonly unknown[]): number =>
    seen.reduce((all, each) => all + of(each).length, 0);
  const times = seen.map(({ interactiveMs }) => interactiveMs);
  tableRow(
    path.replace(/runs\/.*/, 'runs/…'),
    `${ms(median(times))}, ${ms(Math.min(...times))}`,
    ms(median(seen.map(({ cpuMs }) => cpuMs))),
    `${kb(most(({ fileBytes }) => fileBytes))}, ${kb(most(({ bytes }) => bytes))}`,
    sum(({ axe }) => axe),
    sum(({ csp }) => csp),
    sum(({ errors }) => errors),
    sum((each) => each.overflow),
  );
}

function kb(bytes: number): string {
  return (bytes / 1000).toFixed(0);
}
