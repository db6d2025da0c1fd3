import { execFile } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, posix } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { headingAnchor } from '../../docs/.vitepress/heading-anchor.ts';
import { chromiumPath, launchBrowser } from '../support/browser.ts';
import { tempDataDir } from '../support/server.ts';
import { allFiles, read, root } from '../source-tree.ts';

/** A site as written to a folder: files by their path, pages by their path with what is in their HTML. */
interface Site {
  readonly folder: string;
  readonly pages: ReadonlyMap<string, string>;
}

const sources = allFiles().filter((path) => path.startsWith('docs/') && path.endsWith('.md'));
const pathOnSite = (source: string): string =>
  source
    .replace(/^docs\//, '')
    .replace(/README\.md$/, 'index.md')
    .replace(/\.md$/, '.html');

async function buildSite(folder: string): Promise<Site> {
  const vitepress = join(root, 'node_modules/vitepress/bin/vitepress.js');
  const env = { PATH: process.env['PATH'], NO_COLOR: '1' };
  await promisify(execFile)(process.execPath, [vitepress, 'build', 'docs', '--outDir', folder], { cwd: root, env });
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.html'));
  return { folder, pages: new Map(paths.map((path) => [path, readFileSync(join(folder, path), 'utf8')])) };
}

/** Values of an attribute in a page. */
function attributes(html: string, element: string, attribute: string): string[] {
  const values = html.matchAll(new RegExp(`<(?:${element})\\b[^>]*?\\s${attribute}="([^"]*)"`, 'g'));
  return [...values].map((match) => (match[1] ?? '').replaceAll('&amp;', '&'));
}

function leadsSomewhere({ folder, pages }: Site, page: string, link: string): boolean {
  const [path = '', anchor = ''] = decodeURI(link).split('#');
  const target = posix.join('/', path === '' ? page : posix.resolve('/', posix.dirname(page), path)).slice(1);
  const file =
    target === '' || target.endsWith('/') || extname(target) === '' ? posix.join(target, 'index.html') : target;
  if (!existsSync(join(folder, file))) return false;
  return anchor === '' || (pages.get(file) ?? '').includes(` id="${anchor}"`);
}

async function serve(folder: string): Promise<{ readonly url: string; readonly server: Server }> {
  const types: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };
  const server = createServer((request, answer) => {
    const path = new URL(request.url ?? '/', 'http://site').pathname.replace(/\/$/, '/index.html');
    const isThere = existsSync(join(folder, path));
    answer.writeHead(isThere ? 200 : 404, { 'content-type': types[extname(path)] ?? 'application/octet-stream' });
    answer.end(isThere ? readFileSync(join(folder, path)) : 'not there');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

describe('the documentation site', () => {
  let site: Site;
  let folder: Awaited<ReturnType<typeof tempDataDir>>;
  beforeAll(async () => {
    folder = await tempDataDir();
    site = await buildSite(folder.path);
  }, 600_000);
  afterAll(() => folder[Symbol.asyncDispose]());

  it('has every page of docs, each reachable from the navigation', () => {
    expect(sources.length).toBeGreaterThan(100);
    const guide = site.pages.get('guides/imports.html') ?? '';
    const links = attributes(guide, 'a', 'href').map((link) => link.slice(1).replace(/(^|\/)$/, '$1index.html'));
    const linked = new Set(links);
    const missing = sources.map(pathOnSite).filter((page) => !site.pages.has(page) || !linked.has(page));
    expect(missing).toEqual([]);
  });

  it('every internal link resolves to a page, a heading or a file', () => {
    const links = [...site.pages].flatMap(([page, html]) =>
      attributes(html, 'a', 'href')
        .filter((link) => !/^[a-z]+:/.test(link))
        .map((link) => ({ page, link })),
    );
    expect(links.length).toBeGreaterThan(1_000);
    const dead = links.filter(({ page, link }) => page !== '404.html' && !leadsSomewhere(site, page, link));
    expect(dead).toEqual([]);
  });

  it('loads nothing from another host', () => {
    const loaded = [...site.pages].flatMap(([page, html]) =>
      [...attributes(html, 'script|img|source|iframe|video', 'src'), ...attributes(html, 'link', 'href')]
        .filter((address) => /^([a-z]+:)?\/\//.test(address))
        .map((address) => `${page}: ${address}`),
    );
    const styles = readdirSync(site.folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.css'))
      .flatMap(
        (path) =>
          readFileSync(join(site.folder, path), 'utf8').match(/(?:url\(|@import )["']?(?:https?:)?\/\/[^)"' ]+/g) ?? [],
      );
    expect([...loaded, ...styles]).toEqual([]);
  });

  it('gives headings the anchors that code hosts give them', () => {
    const [, heading = ''] = /^## (Stored once)$/m.exec(read('docs/guarantees.md')) ?? [];
    expect(site.pages.get('guarantees.html')).toContain(`id="${headingAnchor(heading)}"`);
  });

  it.skipIf(!chromiumPath)('asks no other host in a browser, and finds pages by their words', async () => {
    const { url, server } = await serve(site.folder);
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      const asked: string[] = [];
      const faults: string[] = [];
      page.on('request', (request) => asked.push(request.url()));
      page.on('response', (answer) => answer.status() >= 400 && faults.push(`${answer.status()} ${answer.url()}`));
      page.on('pageerror', (error) => faults.push(error.message));
      await page.goto(url);
      await page.getByRole('button', { name: 'Search' }).click();
      await page.locator('#localsearch-input').fill('dead letter');
      await page.locator('#localsearch-list a').first().click();
      await page.waitForURL(/\.html/);
      await page.getByRole('heading', { level: 1 }).waitFor();
      expect(faults).toEqual([]);
      expect(asked.filter((address) => !address.startsWith(url) && !address.startsWith('data:'))).toEqual([]);
    } finally {
      await browser.close();
      server.close();
    }
  });
});
