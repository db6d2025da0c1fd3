import { existsSync, statSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { headingAnchor } from '../docs/.vitepress/heading-anchor.ts';
import { docPages } from '../tools/generate-docs.ts';
import { pageSections, withSection } from '../tools/reference/page-sections.ts';
import { allFiles, read, root } from './source-tree.ts';
import { settingDefinitions } from '../src/server/config/settings.ts';
import { capturePaths, captureV1Errors, captureV1Path } from '../src/wire/contract/capture.ts';
import { apiErrors, captureErrorCodes } from '../src/wire/contract/errors.ts';
import { segmentBatchPaths, segmentMessagePaths } from '../src/wire/contract/segment.ts';
import { allScopes } from '../src/wire/contract/scopes.ts';
import { ingestionWarnings } from '../src/wire/contract/warnings.ts';
import { formats } from '../src/imports/formats/registry.ts';
import { builtInPlugins } from '../src/plugins/built-in/registry.ts';
import { doctorParts } from '../src/server/service/doctor/checks.ts';
import { metricDefinitions } from '../src/server/telemetry/metrics.ts';

const pages = allFiles().filter((path) => path.endsWith('.md'));

describe('the reference matches the program', () => {
  it.each(Object.entries(docPages))('%s is up to date; npm run docs writes it', (path, generate) => {
    expect(existsSync(join(root, path)), `${path} is missing; run npm run docs`).toBe(true);
    expect(read(path)).toBe(generate());
  });

  it('nothing in docs/reference is left over', () => {
    const there = allFiles().filter((path) => path.startsWith('docs/reference/'));
    expect(there.filter((path) => !(path in docPages))).toEqual([]);
  });

  it.each(Object.entries(pageSections))(
    '%s of a guide is up to date; npm run docs writes it',
    (name, { page, generate }) => {
      expect(read(page)).toBe(withSection(read(page), name, generate()));
      expect(generate()).not.toMatch(/NaN|undefined|Infinity/);
    },
  );

  it.each<[string, readonly string[]]>([
    ['settings', Object.values(settingDefinitions).map(({ env }) => env)],
    ['errors', Object.keys(apiErrors)],
    ['warnings', Object.keys(ingestionWarnings)],
    ['capture', [...capturePaths, captureV1Path, ...captureErrorCodes, ...Object.keys(captureV1Errors)]],
    ['capture', [...segmentBatchPaths, ...Object.keys(segmentMessagePaths)]],
    ['metrics', Object.keys(metricDefinitions)],
    ['scopes', allScopes],
    ['doctor', doctorParts.flatMap(({ checks }) => Object.keys(checks))],
    ['plugins', builtInPlugins.map(({ slug }) => slug)],
    ['formats', formats.map(({ slug }) => slug)],
    ['cli', ['serve', 'send', 'events tail', 'configs reorder', 'keys roll', 'projects rotate-token', 'doctor']],
  ])('every row of %s is documented', (page, names) => {
    const text = read(`docs/reference/${page}.md`);
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name) => !text.includes(name))).toEqual([]);
  });
});

/** Messages that the troubleshooting page quotes, as far as they are literal in the sources. */
const quotedMessages = [
  'event submitted without an api_key',
  'Personal API key found in request',
  'got a project key, which belongs in --project-key',
  'The check rejected',
  'may have other properties than were sent',
  'got none among the first',
  'stay free; free some space',
  'are stored with the expected id, time',
  'finish, cancel or remove other runs, or raise the disk budget',
  'the disk is full (',
  '--again starts a new one',
  'no service can undo import',
  'choose another with --port or MILLRACE_PORT',
  'is in use by another process: stop that one, or choose another data directory with --data-dir',
  'The service is starting.',
  'The ClickHouse server cannot be reached',
  'stores that several processes share',
  'The server of the event log has not answered for',
  'Expected a host that is this service, got:',
  'suspended, events pass unchanged:',
];

describe('the pages written by hand', () => {
  it('troubleshooting quotes messages that the program still prints', () => {
    const page = read('docs/troubleshooting.md').replaceAll(/\s+/g, ' ');
    const sources = allFiles()
      .filter((path) => /^src\/.*(?<!\.test)\.ts$/.test(path))
      .map(read);
    const joined = sources.map((text) => text.replaceAll(/['`] \+\s+['`]/g, '').replaceAll(/\s+/g, ' ')).join('\n');
    expect(quotedMessages.filter((message) => !page.includes(message) || !joined.includes(message))).toEqual([]);
  });

  it('there are some', () => {
    expect(pages).toEqual(expect.arrayContaining(['README.md', 'ARCHITECTURE.md', 'docs/guides/first-history.md']));
  });

  it('every link to a file or heading of this repository resolves', () => {
    expect(pages.flatMap(deadLinks)).toEqual([]);
  });

  it('every variable that a page or deploy file names exists', () => {
    const known = new Set<string>([
      ...Object.values(settingDefinitions).map(({ env }) => env),
      'MILLRACE_CONFIG_FILE',
      'MILLRACE_URL',
      'MILLRACE_API_KEY',
      'MILLRACE_PROJECT_API_KEY',
      'MILLRACE_PROFILE',
      // Read by test/compat.test.ts.
      'MILLRACE_PUBLISHED_PLUGINS',
      'MILLRACE_TEST_SERVERS',
    ]);
    const files = allFiles().filter((path) => path.endsWith('.md') || path.startsWith('deploy/'));
    const unknown = files.flatMap((path) =>
      [...read(path).matchAll(/\bMILLRACE_[A-Z_]*[A-Z]\b/g)]
        .map((match) => match[0].replace(/_FILE$/, (end) => (known.has(match[0]) ? end : '')))
        .filter((name) => !known.has(name))
        .map((name) => `${path}: ${name}`),
    );
    expect(unknown).toEqual([]);
  });

  it('every npm script and repository path in backticks exists', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const missing = pages.flatMap((page) => {
      const text = read(page);
      const runs = [...text.matchAll(/\bnpm run ([a-z0-9:]+)/g)]
        .map((match) => match[1] ?? '')
        .filter((name) => !(name in scripts));
      const paths = [...text.matchAll(/`((?:src|test|scripts|docs|deploy|bin)\/[\w./-]+)`/g)]
        .map((match) => match[1] ?? '')
        .filter((path) => !existsSync(join(root, path)));
      return [...runs, ...paths].map((each) => `${page}: ${each}`);
    });
    expect(missing).toEqual([]);
  });

  it.each(['ARCHITECTURE.md', 'CONTRIBUTING.md', 'STYLE.md'])('every file and folder that %s names exists', (page) => {
    const there = allFiles().map((path) => `/${path}`);
    // `run.ts` may be anywhere, `stages/check` and (stages/check) in any folder.
    const named = [...read(page).matchAll(/[`(]((?:[\w-]+\/)*[\w.-]+(?:\.ts|\.md|\/|\/[\w-]+))[`)]/g)].map(
      (match) => match[1] ?? '',
    );
    expect(named.length).toBeGreaterThan(1);
    expect(named.filter((name) => !there.some((path) => `${path}/`.includes(`/${name.replace(/\/$/, '')}/`)))).toEqual(
      [],
    );
  });
});

function deadLinks(page: string): string[] {
  const links = [...withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '');
  return links
    .filter((link) => !/^[a-z]+:/.test(link) && !leadsSomewhere(page, link))
    .map((link) => `${page}: ${link}`);
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', heading] = link.split('#');
  const target = path === '' ? page : posix.normalize(posix.join(dirname(page), path));
  if (!existsSync(join(root, target))) return false;
  if (heading === undefined || statSync(join(root, target)).isDirectory()) return true;
  return headings(read(target)).includes(heading);
}

function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '');
}

/** Headings as anchors. */
function headings(text: string): string[] {
  return [...text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.*)$/gm)].map((match) =>
    headingAnchor(match[1] ?? ''),
  );
}
