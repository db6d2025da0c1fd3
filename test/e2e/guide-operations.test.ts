/** The guides for operators and for imports over the API as a reader follows them, with the real service. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { layExport } from '../support/guide-exports.ts';
import { testBucketServer } from '../support/bucket-server.ts';
import { startGuideService, type GuideService, type Seat } from '../support/guide-service.ts';
import { mixpanelLines } from '../support/import-command.ts';
import { apiSend, untilRun, type RunAnswer } from '../support/import-runs.ts';
import { readBlocks } from '../support/page-blocks.ts';
import { shareOf } from '../support/page-commands.ts';
import { apiGet, personalKey, projectKey } from '../support/server.ts';

const share = shareOf(import.meta.url);
const operations = 'docs/guides/operations.md';
const imports = 'docs/guides/imports.md';
const appsPath = '/api/projects/@current/pipeline_import_apps_configs/';

let service: GuideService;
beforeAll(async () => {
  service = await startGuideService();
});
afterAll(() => service[Symbol.asyncDispose]());

const exported = (records: number, mark: string): Buffer =>
  gzipSync(`${mixpanelLines(records).join('\n').replaceAll('evt-', mark)}\n`);

interface Followed {
  readonly config: string;
  readonly run: string;
}

/** From an upload to a report, as far as the page goes; what it is asked to fill in is what was answered. */
async function follow(seat: Seat): Promise<Followed> {
  const heading = 'Run an import over the API';
  const blocks = share.take({ page: imports, heading });
  const [key = '', upload = '', pieces = '', make = '', set = '', check = '', finish = '', ...more] = blocks;
  expect(more).toEqual([]);
  await writeFile(join(seat.folder, 'export.jsonl.gz'), exported(300, 'guide-'));
  await seat.type(key);
  const whole = await seat.type(upload);
  expect(JSON.parse(whole)).toMatchObject({ path: 'upload:export.jsonl.gz' });
  // The other way to do the same.
  await seat.type(
    'curl -fsS -X DELETE "$A/import_files/export.jsonl.gz/" -H "Authorization: Bearer $MILLRACE_API_KEY"',
  );
  const answers = await seat.type(pieces, { '50m': '4k' });
  expect(answers).toContain((JSON.parse(whole) as { sha256: string }).sha256);
  const { id, plugin } = JSON.parse(await seat.type(make)) as { id: number; plugin: number };
  expect(await apiGet(service.server, `/api/projects/@current/plugins/${plugin}/`)).toMatchObject({ name: 'Files' });
  await seat.type(set, { '<config>': String(id) });
  const run = JSON.parse(await seat.type(check)) as RunAnswer;
  const shown = await seat.type(finish, { '<id>': run.id });
  expect(shown).toMatch(/event: progress/);
  expect(await apiGet(service.server, `${appsPath}${id}/runs/${run.id}/`)).toMatchObject({ state: 'completed' });
  expect(await readFile(join(seat.folder, 'report.html'), 'utf8')).toContain('<html');
  return { config: String(id), run: run.id };
}

it('Heap: the loop over its tables imports all of them, each compared with the stored events', async () => {
  await using seat = await service.open();
  await layExport('heap', seat.folder);
  await writeFile(join(seat.folder, 'key.txt'), `${personalKey}\n`);
  const loop = share.take({ page: 'docs/guides/migrate-heap.md', heading: 'Run the import' }).join('');
  // Continues only if the previous one is exact.
  expect((await seat.type(loop)).match(/^verify exact:/gm)).toHaveLength(5);
});

/** The commands of a block that are each other's alternatives, by what they say of themselves. */
const alternatives = (block: string): string[] => block.trim().split('\n');

it('imports: from files to a report, thresholds, the same records again, an undo, an agreement', async () => {
  await using seat = await service.open();
  const { config, run } = await follow(seat);
  const runsPath = `${appsPath}${config}/runs/`;

  // The same records under other names: another form of the run that there is.
  const [dry = '', replace = '', resume = '', ...others] = alternatives(
    share.take({ page: imports, heading: 'Import the same records again' }).join(''),
  );
  expect(others).toEqual([]);
  const own = { '--config 3': `--config ${config}` };
  const renamed = (name: string) =>
    apiSend(service.server, 'PATCH', `${appsPath}${config}/settings/`, {
      names: JSON.stringify({ events: { 'Event 1': name } }),
    });
  await renamed('Renamed');
  expect(await seat.type(dry, own)).toContain(run);
  expect(await apiGet(service.server, `${runsPath}${run}/`)).toMatchObject({ state: 'completed' });
  await seat.type(replace, own);
  expect(await apiGet(service.server, `${runsPath}${run}/`)).toMatchObject({ state: 'undone' });
  await renamed('Renamed again');
  const third = await apiSend<RunAnswer>(service.server, 'POST', runsPath);
  await expect(untilRun(service.server, `${runsPath}${third.id}/`, () => false)).rejects.toThrow(/"state":"failed"/);
  await seat.type(resume, own);
  const completed = ({ state }: RunAnswer): boolean => state === 'completed';
  await untilRun(service.server, `${runsPath}${third.id}/`, completed);

  const [ask = '', take = '', ...rest] = alternatives(share.take({ page: imports, heading: 'Undo a run' }).join(''));
  expect(rest).toEqual([]);
  const undone = { ...own, '<run>': third.id };
  expect(await seat.type(ask, undone)).toContain(third.id);
  // There is no terminal to prompt.
  await expect(seat.type(`! ${take}`, undone)).resolves.toBeDefined();
  await seat.type(take.replace(' #', ' --yes #'), undone);
  expect(await apiGet(service.server, `${runsPath}${third.id}/`)).toMatchObject({ state: 'undone' });

  // One bad record of 1,001.
  const bad = gzipSync(`${mixpanelLines(1000).join('\n').replaceAll('evt-', 'bad-')}\n{"event": 7}\n`);
  await writeFile(join(seat.folder, 'bad.jsonl.gz'), bad);
  await seat.type(`curl -fsS -X POST "$A/import_files/?name=bad.jsonl.gz" -H "Authorization: Bearer $MILLRACE_API_KEY" \
    -H 'Content-Type: application/octet-stream' --data-binary @bad.jsonl.gz`);
  await apiSend(service.server, 'PATCH', `${appsPath}${config}/settings/`, { paths: 'upload:bad.jsonl.gz', names: '' });
  const failing = await apiSend<RunAnswer>(service.server, 'POST', runsPath);
  await expect(untilRun(service.server, `${runsPath}${failing.id}/`, () => false)).rejects.toThrow(/rejected/);
  await seat.type(`R="$C/runs/${failing.id}"`);
  await seat.type(share.take({ page: imports, heading: 'Rejection threshold' }).join(''));
  await untilRun(service.server, `${runsPath}${failing.id}/`, completed);

  const filed = await seat.type(share.take({ page: imports, heading: 'Agreements' }).join(''));
  expect(JSON.parse(filed)).toMatchObject({ source: 'Mixpanel', events_per_second: 5000 });
});

it('operations: events in transit', async () => {
  await using seat = await service.open();
  const block = share.take({ page: operations, heading: 'Watch events live' }).join('');
  // Watches until the event is seen.
  const looking = seat.type(`curl() { command curl -sS --max-time 100 "$@" | sed '/seen on its way/q'; }\n${block}`);
  const sending = setInterval(() => {
    const batch = [{ event: 'seen on its way', distinct_id: 'ada' }];
    const body = JSON.stringify({ api_key: projectKey, batch });
    void fetch(`${service.server.url}/batch/`, { method: 'POST', body });
  }, 300);
  try {
    expect(await looking).toMatch(/stored[^]*seen on its way/);
  } finally {
    clearInterval(sending);
  }
});

it('operations: nightly backups to a directory and a bucket, restored; damaged requests found and set aside', async () => {
  await using bucket = await testBucketServer({ bucket: 'my-backups', accessKeyId: 'AKIDEXAMPLE' });
  await using seat = await service.open({
    processes: true,
    env: {
      AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
      AWS_SECRET_ACCESS_KEY: 'secret',
      AWS_ENDPOINT_URL: bucket.endpoint,
      AWS_REGION: 'eu-central-1',
    },
  });
  const [backups, nights] = [join(seat.folder, 'backups'), join(seat.folder, 'nights')];
  const [byHand = '', nightly = '', ...more] = share.take({ page: operations, heading: 'Backup' });
  expect(more).toEqual([]);
  await mkdir(backups);
  await seat.type(byHand, { '/backups': backups });
  expect([...bucket.objects.keys()]).toContain('2026-11-23/manifest.json');

  const days = Array.from({ length: 16 }, (_, at) => `2020-01-${String(at + 1).padStart(2, '0')}`);
  for (const day of days) await mkdir(join(nights, day), { recursive: true });
  await seat.type(nightly, { '/srv/millrace': join(seat.folder, 'data'), '/backups': nights });
  const today = new Date().toISOString().slice(0, 10);
  const left = await readdir(nights);
  expect(left).toHaveLength(14);
  expect(left).toContain(today);

  using metadata = new DatabaseSync(join(seat.folder, 'restored/metadata.sqlite'));
  const [cursors = '', find = '', put = ''] = readBlocks(operations).flatMap(({ language, text }) =>
    language === 'sql' ? [text] : [],
  );
  metadata.exec(cursors);
  expect(metadata.prepare(find).all()).toEqual([]);
  metadata.exec(put);
});

it('operations: several services from one machine; the settings of a move exist', async () => {
  await using seat = await service.open({ env: { MILLRACE_URL: undefined } });
  for (const file of ['key.txt', 'local-key.txt']) await writeFile(join(seat.folder, file), `${personalKey}\n`);
  const block = share.take({ page: operations, heading: 'Work with several services' }).join('');
  const shown = await seat.type(block, { 'https://events.example.com': service.server.url, 'phc_…': projectKey });
  expect(shown.match(/^status: /gm)).toHaveLength(2);
  const [settings = ''] = readBlocks(operations).flatMap(({ language, text }) => (language === 'json' ? [text] : []));
  await writeFile(join(seat.folder, 'cluster.json'), settings);
  expect(await seat.type('npx millrace config show --config-file cluster.json --json')).toContain('kafka1:9092');
});

it('has run all of its blocks', () => {
  expect(share.left()).toEqual([]);
});
