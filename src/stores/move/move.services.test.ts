import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { describeOnPostgres } from '../../../test/support/postgres-database.ts';

const proof = fileURLToPath(new URL('../../../tools/prove/move.ts', import.meta.url));

describeOnPostgres('a machine that moves to a cluster', (database) => {
  it('the data of a killed service is moved exactly once through kills, and sending it again to the target changes nothing', async () => {
    const { CLICKHOUSE_URL: _, ...env } = process.env;
    const child = spawn(process.execPath, [proof, '6000', '2'], {
      env: { ...env, DATABASE_URL: database.url },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    const [code] = (await once(child, 'close')) as [number | null];
    expect({ code, output }).toMatchObject({ code: 0 });
    expect(output).toContain('nothing lost, nothing doubled; the persons are the same');
  });
});
