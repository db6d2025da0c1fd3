import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exitCodes } from '../exit-codes.ts';
import { startEndpoint } from '../../../test/support/capture-endpoint.ts';
import { runCommand } from '../../../test/support/command.ts';
import { mixpanelLines, newImport, resultOf } from '../../../test/support/import-command.ts';

describe('the same records under other names', () => {
  it('are not stored twice by mistake: counts, the earlier run, and --again to do it anyway', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(mixpanelLines(700));
    const names = join(made.dir, 'names.json');
    await writeFile(names, JSON.stringify({ events: { 'Event 1': 'Renamed' } }));
    const { id } = resultOf(await made.start(endpoint.url));
    const sent = endpoint.kept.length;

    const check = await made.start(endpoint.url, ['--names', names, '--check']);
    expect(resultOf(check)).toMatchObject({
      check: { verdict: 'failed', same_records: [{ run: id, records: 700, loaded: 700, again: 100 }] },
    });
    const refused = await made.start(endpoint.url, ['--names', names]);
    expect(refused.code).toBe(exitCodes.failed.code);
    expect(refused.stderr).toContain(`Run ${id} of`);
    expect(refused.stderr).toContain('100 events of this run would be stored in addition to them');
    expect(refused.stderr).toContain('--again');
    // Runs that no service can undo are not offered.
    expect(refused.stderr).not.toContain('undo');
    const args = ['import', 'mixpanel', made.file, '--to', endpoint.url, '--project-key', 'phc_test'];
    const other = join(made.dir, 'other.json');
    await writeFile(other, JSON.stringify({ events: { 'Event 2': 'Other' } }));
    for (const more of [
      ['--names', names],
      ['--names', other, '--check'],
    ]) {
      const { code, stdout, stderr } = await runCommand([...args, '--state-dir', made.state, ...more]);
      expect([code, `${stdout}${stderr}`.split('700 of the same records').length - 1]).toEqual([1, 1]);
    }
    expect(endpoint.kept).toHaveLength(sent);

    const meant = await made.start(endpoint.url, ['--names', names, '--again']);
    expect([meant.code, endpoint.kept.length]).toEqual([exitCodes.unverified.code, sent + 700]);
  });

  it('are found in the state directories of imports from other working directories', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(mixpanelLines(70));
    const env = { XDG_STATE_HOME: join(made.dir, 'user') };
    const names = join(made.dir, 'names.json');
    await writeFile(names, JSON.stringify({ events: { 'Event 1': 'Renamed' } }));
    const { id } = resultOf(await made.start(endpoint.url, [], { env }));
    const elsewhere = ['--state-dir', join(made.dir, 'elsewhere'), '--names', names];
    const refused = await made.start(endpoint.url, elsewhere, { env });
    expect(refused.code).toBe(exitCodes.failed.code);
    expect(refused.stderr).toContain(`Run ${id} of`);
    expect(endpoint.kept).toHaveLength(70);
    await rm(made.state, { recursive: true });
    const alone = await made.start(endpoint.url, [...elsewhere, '--again'], { env });
    expect(alone.code).toBe(exitCodes.unverified.code);
  });

  it('into another project are not repeated records', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(mixpanelLines(70));
    const names = join(made.dir, 'names.json');
    await writeFile(names, JSON.stringify({ events: { 'Event 1': 'Renamed' } }));
    await made.start(endpoint.url);
    const other = await made.start(endpoint.url, ['--names', names, '--project-key', 'phc_other']);
    expect(other.code).toBe(exitCodes.unverified.code);
  });
});
