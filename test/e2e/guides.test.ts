/** The guides as a reader follows them, with the real service: every block that is for the shell, as written. */
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startExportServer } from '../support/export-server.ts';
import { startGuideService, type GuideService } from '../support/guide-service.ts';
import { createImportConfig } from '../support/import-runs.ts';
import { readBlocks, root } from '../support/page-blocks.ts';
import { shareOf } from '../support/page-commands.ts';
import { apiGet, projectKey } from '../support/server.ts';
import { smtpServer, type SmtpServer } from '../support/smtp-server.ts';

const share = shareOf(import.meta.url);
const guide = (name: string): string => `docs/guides/${name}.md`;
const takeOne = (name: string, heading: string, holds?: string): string =>
  share.take({ page: guide(name), heading, ...(holds === undefined ? {} : { holds }) }).join('');
/** What the page shows in the language, below the heading. */
const shownIn = (name: string, language: string, heading: string): string =>
  readBlocks(guide(name))
    .filter((block) => block.language === language && block.heading === heading)
    .map((block) => block.text)
    .join('');
const configsPath = '/api/projects/@current/pipeline_transformation_configs/';

let mail: SmtpServer;
let service: GuideService;
beforeAll(async () => {
  mail = await smtpServer();
  // The settings for e-mail are those of the guide; only the server that they name is another one.
  const settings = takeOne('notices', 'Email').replace('user:password@mail.example.com:587', `127.0.0.1:${mail.port}`);
  const lines = [...settings.matchAll(/^(\w+)='?(.*?)'?$/gm)].map(
    ([, name = '', value = '']) => [name, value] as const,
  );
  service = await startGuideService({ ...Object.fromEntries(lines), MILLRACE_OUTBOUND_ALLOW: '127.0.0.1' });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await mail[Symbol.asyncDispose]();
});

async function capture(event: object): Promise<void> {
  const body = JSON.stringify({ api_key: projectKey, batch: [event] });
  expect((await fetch(`${service.server.url}/batch/`, { method: 'POST', body })).status).toBe(200);
}

/** What is accepted may be stored a moment later; a person would look again. */
const poll = <T>(look: () => Promise<T>) => expect.poll(look, { interval: 300 });

const storedNames = async (query: string): Promise<string[]> => {
  const path = `/api/projects/@current/events/?${query}`;
  return (await apiGet<{ results: { event: string }[] }>(service.server, path)).results.map(({ event }) => event);
};

it('transformations: written, tested, installed, enabled, watched, upgraded and rolled back', async () => {
  const name = 'transformations';
  await using seat = await service.open();
  const page = await readFile(join(root, guide(name)), 'utf8');
  // Each file of the example is named in the sentence before its block.
  const files = [...page.matchAll(/`([\w-]+(?:\/[\w-]+)?\.(?:json|ts))`[^`]*\n```(?:json|ts)\n([^`]*)```/g)];
  expect(files.map(([, file]) => file)).toEqual([
    'paid-tier/plugin.json',
    'paid-tier/index.ts',
    'sample.json',
    'expected.json',
  ]);
  await seat.type('mkdir paid-tier');
  for (const [, file = '', content = ''] of files) await writeFile(join(seat.folder, file), content);

  const [once = '', expecting = '', chained = ''] = share.take({ page: guide(name), heading: '2. Try it' });
  const shown = shownIn(name, 'text', '2. Try it');
  const withoutTimes = (words: string): string => words.replaceAll(/[\d.]+ ms/g, '… ms').trim();
  expect(withoutTimes(await seat.type(once))).toBe(withoutTimes(shown));
  await seat.type(expecting);
  expect(await seat.type(chained)).toContain('Remove nulls');

  await capture({ event: 'sign up', distinct_id: 'ann', properties: { plan: 'pro' } });
  await poll(() => storedNames('event=sign up')).toEqual(['sign up']);
  const heading = '3. Install and configure it';
  const [install = '', tests = '', chain = ''] = share.take({ page: guide(name), heading });
  await seat.type(install);
  const answers = (await seat.type(tests)).trim();
  expect(answers).toMatch(/"tier":\s?"paid"[^]*"tier":\s?"free"/);
  expect(await seat.type(chain)).toContain('sign up');
  const [steps = ''] = readBlocks(guide(name)).flatMap((block) =>
    block.heading === heading && block.language === 'json' ? [block.text] : [],
  );
  expect(Object.keys(JSON.parse(steps) as object)).toEqual(['event_id', 'steps']);

  await seat.type(takeOne(name, '4. Enable it'));
  await poll(async () => {
    await capture({ event: 'sign up', distinct_id: 'bob', properties: { plan: 'basic' } });
    const path = '/api/projects/@current/events/?event=sign up&distinct_id=bob';
    const { results } = await apiGet<{ results: { properties: object }[] }>(service.server, path);
    return results[0]?.properties;
  }).toMatchObject({ tier: 'free', $plugins_succeeded: [expect.stringContaining('Paid tier')] });

  const watched = await seat.type(takeOne(name, '5. Monitor it'));
  expect(watched).toContain('Paid tier');
  expect(watched).not.toContain('"attr":');
  // There is something to upgrade to.
  await seat.type('sed -i.bak s/1.0.0/1.1.0/ paid-tier/plugin.json');
  await seat.type(takeOne(name, '6. Upgrade and roll back'));
  expect(await apiGet(service.server, `${configsPath}1/`)).toMatchObject({ enabled: true, error: '' });

  await seat.type(takeOne(name, 'Run a transformation for some events only'));
  const filter = { $filter: { events: ['sign up', 'order *'] } };
  expect(await apiGet(service.server, `${configsPath}1/settings/`)).toMatchObject(filter);
});

it('plugin configs: on the command line, over REST, and in the console', async () => {
  const name = 'plugin-configs';
  await using seat = await service.open();
  const [byCommand = '', byRest = ''] = share.take({
    page: guide(name),
    heading: 'Create a transformation config',
  });
  const listed = await seat.type(byCommand);
  const [, first = ''] = /^\d+\s+(\d+)\s.*drop/im.exec(listed) ?? [];
  // The page says so: the id that the first call answers with takes the place of 1.
  const next = Number(first) + 1;
  const answers = await seat.type(byRest, { [`${configsPath}1/`]: `${configsPath}${next}/` });
  expect(answers).toContain(`"id":${next},`);
  expect(await apiGet(service.server, `${configsPath}${next}/`)).toMatchObject({ enabled: true, error: '' });
  expect(await apiGet(service.server, `${configsPath}${next}/settings/`)).toMatchObject({ events: '$pageleave' });

  const look = takeOne(name, 'Generate sample events');
  const [made = '', job = ''] = look.split(/^(?=curl)/m);
  const [, sample = ''] = /^\d+\s+(\d+)/m.exec(await seat.type(made)) ?? [];
  expect(await seat.type(job, { 'configs/2/job/': `configs/${sample}/job/` })).not.toContain('"attr":');
  await poll(() => storedNames('limit=100')).toHaveLength(100);
});

it('a message of the Segment protocol is sent with curl', async () => {
  await using seat = await service.open();
  expect(await seat.type(takeOne('segment-libraries', 'Connect a library'))).toBe('{"success":true}');
  await poll(() => storedNames('event=Order Completed')).toEqual(['Order Completed']);
});

it('retention: previewed, set and shown by command and API', async () => {
  await using seat = await service.open();
  await capture({ event: 'heartbeat', distinct_id: 'ada', timestamp: '2024-03-01T00:00:00Z' });
  await poll(() => storedNames('event=heartbeat')).toEqual(['heartbeat']);
  const [command = '', api = ''] = share.take({ page: guide('retention'), heading: 'Set a policy' });
  expect(await seat.type(command)).toMatch(/heartbeat +30 days +30 days/);
  const [preview = '', set = ''] = (await seat.type(api)).replace('}{', '}\n{').split('\n');
  expect(JSON.parse(preview)).toMatchObject({ newly_expired: 0, events: expect.any(Number) as number });
  expect(JSON.parse(set)).toMatchObject({ live_days: 365, events: [] });
});

it('limits of a project: set, removed and returned to the default by command', async () => {
  await using seat = await service.open();
  const [commands = ''] = share.take({ page: guide('project-limits'), heading: 'Set a limit' });
  const shown = await seat.type(commands);
  expect(shown).toMatch(/events_per_second +2,000 +project\n.*\nbacklog_bytes +500,000,000 +project/);
  expect(shown).toMatch(/events_per_second +unlimited +project\n.*\nbacklog_bytes +unlimited +service/);
});

it('your first history: tested, sent both ways, checked, corrected', async () => {
  const name = 'first-history';
  await using seat = await service.open();
  const message = (at: number) => ({
    type: 'track',
    event: 'Lamp Bought',
    userId: `u${at}`,
    messageId: `m-${at}`,
    timestamp: `2021-04-0${1 + at}T06:07:08Z`,
  });
  const lines = (messages: readonly object[]): string => messages.map((each) => `${JSON.stringify(each)}\n`).join('');
  await writeFile(join(seat.folder, 'history.ndjson.gz'), gzipSync(lines([0, 1, 2].map(message))));
  await seat.type(takeOne(name, '1. Do a dry run'));
  const [send = '', install = ''] = share.take({ page: guide(name), heading: '2. Send the file' });
  await seat.type(send);
  await writeFile(
    join(seat.folder, 'first-history.mjs'),
    await readFile(join(root, guide(name).replace('.md', '.mjs'))),
  );
  // What the line installs is installed in this checkout.
  await seat.type(
    `npm() { [ "$*" = 'install posthog-node uuid' ] && ln -s "${join(root, 'node_modules')}" node_modules; }`,
  );
  expect(await seat.type(install)).toContain('sent 3, skipped 0');
  const check = takeOne(name, '3. Check the result');
  await poll(() => seat.type(check)).toMatch(/2021-04-01\S*\s+Lamp Bought[^]*historical/);
  expect(await storedNames('event=Lamp Bought')).toHaveLength(3);

  const { event: _, ...wrong } = message(3);
  await writeFile(join(seat.folder, 'wrong.ndjson'), lines([wrong]));
  const target = `--url ${service.server.url} --project-key ${projectKey}`;
  await seat.type(
    `npx millrace send wrong.ndjson --from segment --historical ${target} --rejected rejected.ndjson || [ $? -eq 3 ]`,
  );
  const correct = `sed -i.bak 's/"type":"track"/"type":"track","event":"Lamp Bought"/' corrected.ndjson`;
  // The reader's own hand.
  await seat.type(takeOne(name, 'Fix rejected records'), { '# … edit corrected.ndjson …': correct });
  await poll(() => storedNames('event=Lamp Bought')).toHaveLength(4);
});

interface Hook {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

it('notifications: destinations created, tested and verified as documented', async () => {
  const name = 'notices';
  const hooks: Hook[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      hooks.push({ headers: request.headers, body });
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    await using seat = await service.open();
    await writeFile(join(seat.folder, 'slack-address.txt'), `http://127.0.0.1:${port}/slack\n`);
    const webhook = { 'https://hooks.example.com/millrace': `http://127.0.0.1:${port}/millrace` };
    const [create = '', test = ''] = share.take({ page: guide(name), heading: 'Add a destination', holds: 'npx' });
    // The key of the signatures goes to stderr, with what else is for people.
    const listed = await seat.type(`{\n${create}} 2>said.txt`, webhook);
    const [, key = ''] = /not shown again: (\S+)/.exec(await readFile(join(seat.folder, 'said.txt'), 'utf8')) ?? [];
    const [, id = ''] = /^(\S+)\s+ops\s+webhook/m.exec(listed) ?? [];
    expect(listed).toMatch(/channel\s+slack/);
    expect(await seat.type(test, { '<id>': id })).toContain('sent');
    const [hook] = hooks;
    const code = shownIn(name, 'js', 'Webhook requests');
    await writeFile(join(seat.folder, 'verify.mjs'), code);
    const { isFromMillrace } = (await import(pathToFileURL(join(seat.folder, 'verify.mjs')).href)) as {
      isFromMillrace(headers: IncomingHttpHeaders, body: string, key: string): boolean;
    };
    expect(isFromMillrace(hook?.headers ?? {}, hook?.body ?? '', key)).toBe(true);
    expect(isFromMillrace(hook?.headers ?? {}, `${hook?.body} `, key)).toBe(false);
    const promised = JSON.parse(shownIn(name, 'json', 'Webhook requests')) as object;
    expect(Object.keys(JSON.parse(hook?.body ?? '{}') as object).toSorted()).toEqual(Object.keys(promised).toSorted());

    const byRest = takeOne(name, 'Add a destination', 'curl');
    expect(JSON.parse(await seat.type(byRest, webhook))).toMatchObject({ name: 'ops', events: ['run_failed'] });
    const admins = await seat.type('npx millrace notifications list --service');
    await seat.type(`npx millrace notifications test --service ${/^(\S+)\s+admins/m.exec(admins)?.[1]}`);
    expect(mail.mails.map(({ to }) => to)).toEqual([['ops@example.com']]);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});

it('schedules: set, listed, run, paused, resumed, deleted', async () => {
  const name = 'schedules';
  await using source = await startExportServer(() => ({ json: { next: null, results: [] } }));
  const settings = { host: source.url, project_id: '7', personal_api_key: 'k' };
  const made = [1, 2].map(() => createImportConfig(service.server, 'PostHog or Millrace', settings));
  const [first = 0, second = 0] = (await Promise.all(made)).map((path) => Number(/(\d+)\/$/.exec(path)?.[1]));
  await using seat = await service.open();
  const [byCommand = '', byRest = ''] = share.take({ page: guide(name) });
  // Numbers of configs: those that there are here.
  const own = byCommand.replaceAll(/(schedules \w+) ([34])\b/g, (_, verb: string, id: string) =>
    [verb, id === '3' ? first : second].join(' '),
  );
  // There is no terminal to prompt.
  const unasked = own.replace(/(schedules delete \d+)/, '$1 --yes');
  expect(await seat.type(unasked)).toMatch(/daily at 03:30|03:30/);
  const answer = await seat.type(byRest, { 'configs/3/': `configs/${first}/` });
  expect(JSON.parse(answer)).toMatchObject({ every_minutes: 60, overlap_minutes: 120, paused: false });
});

it('client libraries: the snippet for Node captures, the one for a bundler can be bundled', async () => {
  await using seat = await service.open();
  const [node = '', browser = ''] = readBlocks(guide('client-libraries')).flatMap(({ language, text: code }) =>
    language === 'js' ? [code] : [],
  );
  await symlink(join(root, 'node_modules'), join(seat.folder, 'node_modules'));
  const filled = node.replace('<project key>', projectKey).replace('http://127.0.0.1:8000', service.server.url);
  await writeFile(join(seat.folder, 'node.mjs'), filled);
  await seat.type('node node.mjs');
  await poll(() => storedNames('event=signed up')).toHaveLength(1);
  await writeFile(join(seat.folder, 'browser.js'), browser);
  await seat.type('node_modules/.bin/esbuild browser.js --bundle --outfile=bundle.js --log-level=warning');
  expect(await readFile(join(seat.folder, 'bundle.js'), 'utf8')).toContain('https://events.example.com');
});

it('a ClickHouse cluster: its settings exist', async () => {
  await using seat = await service.open();
  const block = takeOne('clickhouse-cluster', 'Settings');
  const shown = await seat.type(`set -a\n${block}\nnpx millrace config show --json`);
  expect(shown).toContain('main');
  expect(shown).not.toContain('PASSWORD');
});

it('has run all of its blocks', () => {
  expect(share.left()).toEqual([]);
});
