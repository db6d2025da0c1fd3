import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DefaultTheme } from 'vitepress';

interface Section {
  readonly text: string;
  /** Pages in order; a name that ends in `*` means every page with that prefix that is not listed elsewhere. */
  readonly pages: readonly string[];
  readonly collapsed?: boolean;
}

/** The sections of the sidebar. A page that is in no section fails the build. */
const sections: readonly Section[] = [
  {
    text: 'Start',
    pages: [
      'tour',
      'concepts',
      'guides/first-history',
      'guides/client-libraries',
      'guides/segment-libraries',
      'guides/console',
      'troubleshooting',
    ],
  },
  {
    text: 'Import history',
    pages: [
      'guides/imports',
      'guides/import-command',
      'guides/choose-what-to-import',
      'guides/schedules',
      'large-imports',
    ],
  },
  { text: 'Migration guides', pages: ['guides/migrate-*'], collapsed: true },
  {
    text: 'Change events',
    pages: ['guides/transformations', 'guides/plugin-configs', 'guides/tracking-plan', 'guides/configuration-files'],
  },
  {
    text: 'Run it',
    pages: [
      'guides/operations',
      'guides/runbooks',
      'guides/project-limits',
      'guides/retention',
      'guides/erase',
      'guides/exports',
      'guides/query-events',
      'guides/sign-in',
      'guides/notices',
      'guides/scale-out',
      'guides/clickhouse-cluster',
    ],
  },
  {
    text: 'What to expect',
    pages: [
      'guarantees',
      'guarantees/*',
      'limits',
      'comparison',
      'benchmarks',
      'benchmarks-log',
      'compatibility',
      'changelog-details',
    ],
  },
  { text: 'Reference', pages: ['reference/cli', 'reference/settings', 'reference/*'] },
  { text: 'Commands', pages: ['reference/cli/*'], collapsed: true },
  { text: 'Built-in plugins', pages: ['reference/plugins/*'], collapsed: true },
  { text: 'Import formats', pages: ['reference/formats/*'], collapsed: true },
  { text: 'Decisions', pages: ['decisions/README', 'decisions/*'], collapsed: true },
];

export function sidebar(docs: string): DefaultTheme.SidebarItem[] {
  const all = pagesOf(docs);
  const listed = new Set(['index', ...sections.flatMap(({ pages }) => pages)]);
  const missing = [...listed].filter((page) => !page.endsWith('*') && !all.includes(page));
  const items = sections.map(({ text, pages, collapsed = false }) => {
    const shown = pages.flatMap((page) => (page.endsWith('*') ? rest(all, page.slice(0, -1), listed) : [page]));
    for (const page of shown) listed.add(page);
    return { text, collapsed, items: shown.map((page) => ({ text: titleOf(docs, page), link: linkTo(page) })) };
  });
  const unlisted = all.filter((page) => !listed.has(page));
  if (missing.length + unlisted.length === 0) return items;
  const found = `without a section: ${unlisted.join(', ')}; listed but missing: ${missing.join(', ')}`;
  throw new Error(`expected every page of docs/ in a section of docs/.vitepress/sidebar.ts, got ${found}`);
}

/** Lists every page, without `.md`, sorted. */
function pagesOf(docs: string): string[] {
  return readdirSync(docs, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md') && !path.startsWith('.'))
    .map((path) => path.slice(0, -'.md'.length))
    .sort();
}

function rest(all: readonly string[], start: string, listed: ReadonlySet<string>): string[] {
  return all.filter((page) => page.startsWith(start) && !page.includes('/', start.length) && !listed.has(page));
}

function titleOf(docs: string, page: string): string {
  const [, title] = /^# (.+)$/m.exec(readFileSync(join(docs, `${page}.md`), 'utf8')) ?? [];
  if (title === undefined) throw new Error(`expected docs/${page}.md to begin with a title (# …), got none`);
  return title;
}

function linkTo(page: string): string {
  return `/${page.replace(/(^|\/)README$/, '$1')}`;
}
