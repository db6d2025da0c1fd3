import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { count, newImport, resultOf } from '../support/import-command.ts';
import { apiGet, personalKey, projectKey, startServer, tempDataDir, type CountsAnswer } from '../support/server.ts';

describe('millrace import into the real service', () => {
  it('killed with kill -9 while it loads, the same command goes on; what is stored is exactly what was sent', async () => {
    await using data = await tempDataDir();
    const server = await startServer(data.path);
    await using made = await newImport();
    const args = ['--project-key', projectKey, '--api-key', personalKey];
    let child: ChildProcess | undefined;
    const killed = made.spawn(server.url, [...args, '--speed', '1500'], { onStart: (started) => (child = started) });
    // Something is stored, and more is on its way.
    while ((await stored(server)) === 0) await delay(50);
    child?.kill('SIGKILL');
    expect((await killed).code).toBe(null);
    const again = await made.spawn(server.url, args);
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('goes on in load')]);
    expect(resultOf(again)).toMatchObject({
      state: 'completed',
      totals: { records: count, events: count, loaded: count, rejected: 0, verified: count },
      verify: { verdict: 'exact', expected: count, found: count },
    });
    expect(await stored(server)).toBe(count);
    await server.terminate();
  });
});

async function stored(server: Parameters<typeof apiGet>[0]): Promise<number> {
  const { total } = await apiGet<CountsAnswer>(server, '/api/projects/@current/events/counts/');
  return total.historical;
}
