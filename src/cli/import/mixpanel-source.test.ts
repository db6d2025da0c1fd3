import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startEndpoint } from '../../../test/support/capture-endpoint.ts';
import { runCommand } from '../../../test/support/command.ts';
import { startExportServer, type Answer, type ExportRequestOf } from '../../../test/support/export-server.ts';
import { exitCodes } from '../exit-codes.ts';

const own = { time: 1_704_103_200, distinct_id: 'ann', company_id: 'acme', sku: 'a1' };
const events = [1, 2].map((n) => JSON.stringify({ event: 'Bought', properties: { ...own, $insert_id: `i${n}` } }));
const time = { $last_seen: '2024-01-01T09:00:00' };
const profiles = [{ $distinct_id: 'ann', $properties: { $email: 'ann@example.com', ...time } }];
const companies = ['acme', 'bolt'].map((id) => ({ $distinct_id: id, $properties: { seats: 3, ...time } }));

function api({ path, query, form }: ExportRequestOf): Answer {
  const tables = '/api/app/projects/42/data-definitions/lookup-tables/';
  if (path === '/api/2.0/export') return { lines: query.get('from_date') === '2024-01-01' ? events : [] };
  if (path === tables) return { json: { status: 'ok', results: [{ id: 5, name: 'Products' }] } };
  if (path === `${tables}download/`)
    return { bytes: Buffer.from('code,title\na1,Green tea\n'), contentType: 'text/csv' };
  if (path !== '/api/2.0/engage') return { status: 404, body: 'nothing here' };
  const results = form.has('data_group_id') ? companies : profiles;
  return { json: { page: 0, page_size: 1000, session_id: 's', total: results.length, results } };
}

it('group profiles and a lookup table are imported from Mixpanel with the events, and the report counts the profiles', async () => {
  await using endpoint = await startEndpoint(() => 'keep');
  await using server = await startExportServer(api);
  const dir = await mkdtemp(join(tmpdir(), 'millrace-mixpanel-'));
  try {
    const settings = [
      'service_account=a',
      'service_secret=b',
      'project_id=42',
      `base_url=${server.url}`,
      'group_keys=77:company',
    ];
    const words = [
      'import',
      'mixpanel',
      '--source',
      'mixpanel',
      '--from-date',
      '2024-01-01',
      '--to-date',
      '2024-01-02',
    ];
    const choices = ['--format-option', 'groups=company_id:company', '--lookup-table', 'sku=source:Products'];
    const target = ['--to', endpoint.url, '--project-key', 'phc_test', '--state-dir', dir, '--no-preflight', '--json'];
    const given = settings.flatMap((setting) => ['--setting', setting]);
    const done = await runCommand([...words, ...given, ...choices, ...target]);
    expect([done.code, done.stderr]).toEqual([exitCodes.unverified.code, expect.any(String)]);
    const kept = endpoint.kept.map(({ event, properties }) => ({
      event,
      properties: properties as Record<string, unknown>,
    }));
    expect(kept.map(({ event }) => event).toSorted()).toEqual([
      '$groupidentify',
      '$groupidentify',
      '$set',
      'Bought',
      'Bought',
    ]);
    const bought = kept.filter(({ event }) => event === 'Bought').map(({ properties }) => properties);
    expect(bought.map(({ title, code, $groups }) => [title, code, $groups])).toEqual(
      [1, 2].map(() => ['Green tea', undefined, { company: 'acme' }]),
    );
    const report = await runCommand(['import', 'report', '--state-dir', dir, '--json']);
    expect(JSON.parse(report.stdout)).toMatchObject({
      verdict: 'unverified',
      totals: { profiles: { persons: 1, groups: 2 }, events: { loaded: 5 } },
    });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
