/** The log on a disk that is full: real program, its stderr a file on a small file system. */
import { closeSync, openSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { fillDisk, mayMount, smallDisk } from '../support/small-disk.ts';
import { projectKey, startServer, tempDataDir, untilStored } from '../support/server.ts';

it.skipIf(!mayMount)('a full disk under the log only loses log lines, which are counted', async () => {
  await using data = await tempDataDir();
  const logs = join(data.path, 'logs');
  using _disk = smallDisk(logs, 1);
  const file = join(logs, 'stderr');
  const stderr = openSync(file, 'a');
  const server = await startServer(join(data.path, 'data'), { MILLRACE_LOG_LEVEL: 'debug' }, { stderr });
  closeSync(stderr);
  const ballast = fillDisk(logs);
  for (let n = 0; n < 20; n += 1) await fetch(`${server.url}/livez`);
  const batch = [{ event: 'seen', distinct_id: 'u1' }];
  const sent = await fetch(`${server.url}/batch/`, {
    method: 'POST',
    body: JSON.stringify({ api_key: projectKey, batch }),
  });
  expect(sent.status).toBe(200);
  await untilStored(server, { standard: 1, historical: 0 });
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(Number(/^millrace_log_lines_dropped_total (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(0);

  // With space the log continues; without it the service still stops properly.
  const before = statSync(file).size;
  rmSync(ballast);
  await fetch(`${server.url}/livez`);
  await expect.poll(() => statSync(file).size).toBeGreaterThan(before);
  fillDisk(logs);
  expect((await server.terminate()).code).toBe(0);
});
