/** Real: the commands of the guide as they are, the shell, the import, MariaDB's server. Only addresses and keys are replaced. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEndpoint } from '../../../test/support/capture-endpoint.ts';
import { openCommandShell, type CommandShell } from '../../../test/support/command-shell.ts';
import { inFolder, type Sent } from '../../../test/support/guide-import.ts';
import { findMariadb, startMariadb, type MariadbServer } from '../../../test/support/mariadb-server.ts';
import { readBlocks } from '../../../test/support/page-blocks.ts';
import { shareOf } from '../../../test/support/page-commands.ts';

const program = findMariadb();
const reason = program === undefined ? ' (skipped: mariadbd or openssl is not installed)' : '';
const page = 'docs/guides/migrate-mysql.md';

let shell: CommandShell;
let server: MariadbServer;
let directory = '';
beforeAll(async () => {
  if (program === undefined) return;
  directory = await mkdtemp(join(tmpdir(), 'millrace-mariadb-'));
  [shell, server] = await Promise.all([openCommandShell(), startMariadb(program, directory)]);
});
afterAll(async () => {
  if (program === undefined) return;
  await Promise.all([shell[Symbol.asyncDispose](), server[Symbol.asyncDispose]()]);
  await rm(directory, { recursive: true, force: true });
});

describe.skipIf(program === undefined)(`the guide of MySQL and MariaDB${reason}`, () => {
  it('as the user that it creates, each row arrives once, in the zone of its rules', async () => {
    const share = shareOf(import.meta.url);
    await using endpoint = await startEndpoint(() => 'keep');
    await server.exec(
      'create table orders (id bigint unsigned primary key, kind text, customer text, at datetime, total double)',
      `insert into orders select seq, concat('Order ', seq % 3), concat('u', seq % 20),
        '2024-05-01 10:00:00' + interval seq minute, seq / 4 from seq_1_to_500`,
    );
    const blocks = readBlocks(page);
    const [grants = ''] = blocks.flatMap(({ language, text }) => (language === 'sql' ? [text] : []));
    await server.exec(...grants.split(';').filter((statement) => statement.trim() !== ''));
    const [rules = ''] = /^cat > rules\.json[^]*?^END\n/m.exec(blocks.map(({ text }) => text).join('')) ?? [];
    await inFolder(async (folder) => {
      await writeFile(join(folder, 'password.txt'), '…\n');
      const replaced = {
        'host=db.internal': `host=127.0.0.1 --setting port=${server.port} --setting tls='no verify'`,
        'http://127.0.0.1:8000': endpoint.url,
        '<project key>': 'phc_test',
      };
      const block = share.take({ page, heading: 'Run the import' }).join('');
      const commands = Object.entries(replaced).reduce((text, [from, to]) => {
        expect(text).toContain(from);
        return text.replaceAll(from, to);
      }, block);
      await shell.run(rules + commands, folder);
      const kept = endpoint.kept as unknown as readonly Sent[];
      const totals = kept.map(({ properties }) => Number(properties['total'])).toSorted((a, b) => a - b);
      expect(totals).toEqual(Array.from({ length: 500 }, (_, at) => (at + 1) / 4));
      expect(kept.map(({ timestamp }) => timestamp).toSorted()[0]).toBe('2024-05-01T08:01:00.000Z');
      await expect(server.rows('show grants for importer')).resolves.toHaveLength(2);
    });
    expect(share.left()).toEqual([]);
  });
});
