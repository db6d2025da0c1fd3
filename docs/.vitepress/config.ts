import { cpSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { headingAnchor } from './heading-anchor.ts';
import { leadOutOfDocs } from './repository-links.ts';
import { sidebar } from './sidebar.ts';

const docs = fileURLToPath(new URL('..', import.meta.url));
/** The icon of the console. */
const icon = `data:image/svg+xml,${encodeURIComponent(readFileSync(join(docs, '../console/public/icon.svg'), 'utf8'))}`;

/** Builds the site of docs/ (`npm run docs:build`) in docs/.vitepress/dist. It loads nothing from other hosts. */
export default defineConfig({
  title: 'Millrace',
  description:
    'Self-hosted event pipeline: capture, transformations and historical imports that are stored exactly once',
  cacheDir: '.vitepress/.cache',
  rewrites: { 'decisions/README.md': 'decisions/index.md' },
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: icon }]],
  markdown: {
    anchor: { slugify: headingAnchor },
    config: (markdown) => leadOutOfDocs(markdown, { docs, repositoryUrl: process.env['DOCS_REPOSITORY_URL'] }),
  },
  themeConfig: {
    logo: icon,
    nav: [
      { text: 'Tour', link: '/tour' },
      { text: 'Concepts', link: '/concepts' },
      { text: 'Imports', link: '/guides/imports' },
      { text: 'Guarantees', link: '/guarantees' },
      { text: 'Limits', link: '/limits' },
      { text: 'Reference', link: '/reference/cli' },
    ],
    sidebar: sidebar(docs),
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        // Background that would rank above the pages that answer a question.
        _render: (text, env, markdown) =>
          /^(decisions\/|benchmarks-log)/.test(String(env.relativePath)) ? '' : markdown.render(text, env),
        // Pages that explain rank above those that list or prove.
        miniSearch: {
          searchOptions: {
            fuzzy: 0.2,
            prefix: true,
            boost: { title: 4, text: 2, titles: 1 },
            boostDocument: (id: string) =>
              /^\/(guarantees|compatibility|benchmarks|changelog)/.test(id)
                ? 0.3
                : id.startsWith('/reference/')
                  ? 0.8
                  : 1,
          },
        },
      },
    },
    footer: { message: 'MIT licence' },
  },
  // Programs and schemas that pages offer for download.
  buildEnd: ({ outDir }) => {
    for (const folder of ['guides', 'reference']) {
      cpSync(join(docs, folder), join(outDir, folder), {
        recursive: true,
        filter: (path) => ['', '.mjs', '.json'].includes(extname(path)),
      });
    }
  },
});
