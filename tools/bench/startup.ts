import { megabytes } from './end-to-end.ts';
import { bodies } from './events.ts';
import { load, median } from './load.ts';
import { residentBytesOfTree } from './process.ts';
import { benchDataDir, benchProjectKey, delay, startMillrace, untilDrained, untilIdle } from './server.ts';

const eventsPerBody = 1000;

/** (d) Time until ready and resident memory when idle, on an empty store and on a full one. */
export async function benchStartup(storedEvents: number): Promise<string> {
  const dataDir = benchDataDir();
  const rows = ['| stored events | ready after | idle memory |', '|---|---|---|', await measure(dataDir.path, 0)];
  const server = await startMillrace(dataDir.path);
  for (let left = storedEvents / eventsPerBody, seed = 1; left > 0; left -= 500, seed++) {
    const shape = { events: eventsPerBody, people: 20_000, months: 12, historical: true };
    const sent = bodies(benchProjectKey, Math.min(500, left), shape, seed);
    await load({ url: `${server.url}/batch/`, bodies: sent, connections: 8, headers: { 'content-encoding': 'gzip' } });
  }
  await untilDrained(server.url);
  await untilIdle(server.pid);
  await server.stop();
  rows.push(await measure(dataDir.path, storedEvents));
  dataDir.remove();
  return rows.join('\n');
}

async function measure(dataDir: string, storedEvents: number): Promise<string> {
  const ready: number[] = [];
  let idle = 0;
  for (let round = 0; round < 3; round++) {
    const server = await startMillrace(dataDir);
    ready.push(server.readySeconds);
    await delay(2000);
    idle = residentBytesOfTree(server.pid);
    await server.stop();
  }
  return `| ${storedEvents.toLocaleString('en')} | ${median(ready).toFixed(2)} s | ${megabytes(idle)} |`;
}
