import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { describeOnPostgres } from '../../../test/support/postgres-database.ts';
import {
  apiGet,
  projectKey,
  startServer,
  tempDataDir,
  untilStored,
  type TestServer,
} from '../../../test/support/server.ts';

// Real: the program as a process, PostgreSQL, the embedded event store, kill -9.

async function send(server: TestServer, body: object): Promise<number> {
  const answer = await fetch(`${server.url}/batch/`, {
    method: 'POST',
    body: JSON.stringify({ api_key: projectKey, ...body }),
  });
  return answer.status;
}

describeOnPostgres('the whole program on PostgreSQL', (database) => {
  const env = { DATABASE_URL: database.url };

  it('what was acknowledged before kill -9 is stored once, with its persons; a second service is kept out', async () => {
    await using data = await tempDataDir();
    await using other = await tempDataDir();
    const batch = Array.from({ length: 300 }, (_, n) => ({
      event: 'seen',
      distinct_id: `p${n % 10}`,
      uuid: randomUUID(),
      timestamp: '2026-01-02T03:04:05Z',
      properties: { $set: { n, nul: 'a\0b' } },
    }));
    const history = batch.map((event) => ({ ...event, uuid: randomUUID(), timestamp: '2021-02-03T04:05:06Z' }));
    const first = await startServer(data.path, env);
    expect(await send(first, { batch })).toBe(200);
    expect(await send(first, { batch: history, historical_migration: true })).toBe(200);
    await first.kill();
    const second = await startServer(data.path, env);
    expect(await send(second, { batch })).toBe(200);
    await untilStored(second, { standard: 300, historical: 300 });
    const persons = await apiGet<{ results: readonly object[] }>(
      second,
      '/api/projects/@current/persons/?distinct_id=p9',
    );
    expect(persons.results).toMatchObject([
      { properties: { n: 299, nul: 'a\0b' }, created_at: '2021-02-03T04:05:06.000000Z' },
    ]);
    await expect(startServer(other.path, env)).rejects.toThrow('another running Millrace uses');
    expect((await second.terminate()).code).toBe(0);
  });
});
