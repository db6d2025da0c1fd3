import { comparePair, pairRow } from './pairs.ts';
import { forkServer } from './process.ts';
import { benchDataDir, benchPersonalKey, getJson, startMillrace } from './server.ts';

const requestsPerRound = 4000;

/** (c) Reading configs over the API, against a bare Fastify route that returns the same bytes. */
export async function benchApi(rounds: number): Promise<string> {
  const dataDir = benchDataDir();
  const server = await startMillrace(dataDir.path);
  const family = `${server.url}/api/projects/1/pipeline_transformation_configs/`;
  const headers = { authorization: `Bearer ${benchPersonalKey}` };
  const plugins = await getJson<{ results: { id: number; slug: string }[] }>(`${server.url}/api/projects/1/plugins/`);
  const plugin = plugins.results.find(({ slug }) => slug === 'drop-events')?.id;
  let id = 0;
  for (let n = 0; n < 20; n++) {
    const made = await fetch(family, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ plugin }),
    });
    id = ((await made.json()) as { id: number }).id;
  }
  const rows = [
    '| GET | requests per CPU-s | bare route | ratio (min–max) | requests/s | bare |',
    '|---|---|---|---|---|---|',
  ];
  for (const [name, path] of [
    ['one config', `${family}${id}/`],
    ['list of 20', family],
  ] as const) {
    const payload = await (await fetch(path, { headers })).text();
    const base = await forkServer(new URL('./bare-api.ts', import.meta.url), [payload]);
    const requests = Array.from({ length: requestsPerRound }, () => Buffer.alloc(0));
    const options = { bodies: requests, connections: 4, method: 'GET', headers };
    const ours = { pid: server.pid, url: path, stop: server.stop };
    rows.push(pairRow(name, await comparePair(ours, base, options, requestsPerRound, rounds)));
    await base.stop();
  }
  await server.stop();
  dataDir.remove();
  return rows.join('\n');
}
