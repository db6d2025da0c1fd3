import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startEndpoint } from '../../../test/support/capture-endpoint.ts';
import { openCommandShell } from '../../../test/support/command-shell.ts';
import { shareOf } from '../../../test/support/page-commands.ts';

const share = shareOf(import.meta.url);

it('the guide for choosing works as written', async () => {
  await using endpoint = await startEndpoint(() => 'keep');
  await using shell = await openCommandShell();
  const folder = await mkdtemp(join(tmpdir(), 'millrace-choose-'));
  try {
    const shown: string[] = [];
    for (const block of share.take({ page: 'docs/guides/choose-what-to-import.md' })) {
      const words = block.replaceAll('http://127.0.0.1:8000', endpoint.url).replaceAll('<project key>', 'phc_test');
      shown.push(await shell.run(words, folder));
    }
    const [, range = '', properties = '', table = '', transform = '', unusual = ''] = shown;
    expect(range).toContain('events excluded: 1 – not in the list of events');
    expect(range).toContain('events excluded: 1 – before the time range');
    expect(range).toMatch(/line 2: \{"kind":"Order Placed".*\n {2}becomes \{.*"\$identify"/);
    expect(properties).toContain('"plan":"basic"');
    const events = properties.split('\n').filter((line) => line.startsWith('  becomes '));
    expect(events.filter((line) => line.includes('example.com'))).toEqual([]);
    expect(table).toContain('"team":"red"');
    expect(transform).toContain('events excluded: 1 – dropped by the transform "orders.ts"');
    expect(transform).toContain('"total_cents":2000');
    expect(unusual).toContain(
      '1 event has an id with leading or trailing white space (" ann"): kept, and different from ids without it',
    );
    expect(unusual).toContain('(" ann"): the white space is removed');
    expect(unusual).toContain('("1970-01-01T00:00:00.000000Z"): times from 1900 until a day ahead are kept');
    const sent = endpoint.kept.map(({ event, properties: own }) => [event, own as Record<string, unknown>] as const);
    expect(sent.map(([event]) => event)).toEqual(['Order Placed', 'Order Placed', 'Order Shipped', 'Order Placed']);
    expect(sent.map(([, own]) => [own['plan'], own['amount'], own['email']])).toEqual([
      ['basic', 20, undefined],
      ['basic', 35, undefined],
      ['pro', 12, undefined],
      ['pro', 8, undefined],
    ]);
    expect(await readFile(join(folder, 'report.html'), 'utf8')).toContain('excluded by choice');
    expect(share.left()).toEqual([]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
