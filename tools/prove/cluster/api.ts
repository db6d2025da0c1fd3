import { setImmediate } from 'node:timers/promises';
import { mixpanelRecords } from '../../../src/imports/formats/mixpanel/records.fixture.ts';
import { clusterKeys } from './process.ts';

export interface Run {
  readonly id: string;
  readonly state: string;
  readonly stage: string;
  readonly reason: string;
  readonly totals: { readonly records: number; readonly loaded: number; readonly verified: number };
}

const recordsPerPiece = 50_000;
const recordsPerTurn = 500;
const family = '/api/projects/@current/pipeline_import_apps_configs/';

/** Calls the API with the rights of the first admin. */
export async function callApi<T>(url: string, method: string, path: string, body?: object): Promise<T> {
  const answer = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${clusterKeys.personal}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`expected ${method} ${path} to succeed, got: ${answer.status} ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** Uploads a generated export in pieces and starts its import. Returns the path of the run in the API. */
export async function startImport(url: string, { records, seed }: { records: number; seed: number }): Promise<string> {
  let offset = 0;
  let lines: string[] = [];
  const send = async (): Promise<void> => {
    const piece = Buffer.from(lines.join(''));
    lines = [];
    const answer = await fetch(`${url}/api/projects/@current/import_files/?name=export.jsonl&offset=${offset}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${clusterKeys.personal}`, 'content-type': 'application/octet-stream' },
      body: piece,
    });
    if (answer.status !== 201)
      throw new Error(`expected a piece to be taken, got: ${answer.status} ${await answer.text()}`);
    offset += piece.length;
  };
  for (const record of mixpanelRecords(seed, records)) {
    lines.push(`${JSON.stringify(record)}\n`);
    if (lines.length === recordsPerPiece) await send();
    // A load balancer in this process must be able to work.
    if (lines.length % recordsPerTurn === 0) await setImmediate();
  }
  if (lines.length > 0) await send();
  const plugins = await callApi<{ results: { id: number; name: string }[] }>(
    url,
    'GET',
    '/api/projects/@current/plugins/?limit=100',
  );
  const plugin = plugins.results.find(({ name }) => name === 'Files')?.id;
  const { id } = await callApi<{ id: number }>(url, 'POST', family, { plugin });
  await callApi(url, 'PATCH', `${family}${id}/settings/`, { paths: 'upload:export.jsonl', format: 'mixpanel' });
  const { id: runId } = await callApi<Run>(url, 'POST', `${family}${id}/runs/`, {});
  return `${family}${id}/runs/${runId}/`;
}
