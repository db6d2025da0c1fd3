/** Compares what is stored with what was acknowledged, reading rows from ClickHouse itself and persons from the API. */
import { callApi } from '../cluster/api.ts';
import { neededServer } from '../cluster/process.ts';
import type { ExpectedPerson, SentEvent } from './traffic.ts';

interface Row {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly at: string;
  readonly historical: number;
  readonly properties: string;
}

const shownMax = 10;

/** Returns differences as sentences. `project` also has imported events. */
export async function eventFaults(project: number, acknowledged: ReadonlyMap<string, SentEvent>): Promise<string[]> {
  const rows = await query<Row>(`SELECT toString(uuid) AS uuid, event, distinct_id, properties,
toString(toUnixTimestamp64Milli(timestamp)) AS at, toUInt8(historical_migration) AS historical
FROM events FINAL WHERE project_id = ${project} AND import_run = ''`);
  const seen = new Set<string>();
  const faults: string[] = [];
  for (const row of rows) {
    const sent = acknowledged.get(row.uuid);
    if (seen.has(row.uuid)) faults.push(`${row.uuid} is stored twice`);
    seen.add(row.uuid);
    if (sent === undefined) faults.push(`${row.uuid} is stored and was not sent`);
    else if (!isSame(row, sent)) faults.push(`expected ${JSON.stringify(sent)}, got ${JSON.stringify(row)}`);
  }
  for (const uuid of acknowledged.keys())
    if (!seen.has(uuid)) faults.push(`${uuid} was acknowledged and is not stored`);
  return shortened(faults);
}

function isSame(row: Row, sent: SentEvent): boolean {
  return (
    row.event === sent.event &&
    row.distinct_id === sent.distinctId &&
    Number(row.at) === Date.parse(sent.timestamp) &&
    (row.historical === 1) === sent.historical &&
    /"order":(\d+)/.exec(row.properties)?.[1] === sent.order
  );
}

/** Returns differences as sentences; other persons are of the import. */
export async function personFaults(url: string, expected: readonly ExpectedPerson[]): Promise<string[]> {
  const found = new Map<
    string,
    { readonly distinct_ids: readonly string[]; readonly properties: Record<string, unknown> }
  >();
  let next: string | null = `${url}/api/projects/@current/persons/?limit=100`;
  while (next !== null) {
    const { pathname, search } = new URL(next);
    const page: { results: Person[]; next: string | null } = await callApi(url, 'GET', pathname + search);
    for (const person of page.results) for (const id of person.distinct_ids) found.set(id, person);
    next = page.next;
  }
  return shortened(
    expected.flatMap(({ ids, plan }) => {
      const person = found.get(ids[0] ?? '');
      const got = { ids: person?.distinct_ids.toSorted(), plan: person?.properties['plan'] };
      return JSON.stringify(got) === JSON.stringify({ ids, plan })
        ? []
        : [`expected the person ${JSON.stringify({ ids, plan })}, got ${JSON.stringify(got)}`];
    }),
  );
}

interface Person {
  readonly distinct_ids: readonly string[];
  readonly properties: Record<string, unknown>;
}

function shortened(faults: readonly string[]): string[] {
  const more = faults.length - shownMax;
  return [...faults.slice(0, shownMax), ...(more > 0 ? [`and ${more} more`] : [])];
}

async function query<T>(sql: string): Promise<T[]> {
  const url = new URL(neededServer('CLICKHOUSE_URL'));
  const database = url.pathname.slice(1) || 'default';
  const authorization = `Basic ${Buffer.from(`${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`).toString('base64')}`;
  const answer = await fetch(`${url.origin}/?database=${encodeURIComponent(database)}`, {
    method: 'POST',
    headers: { authorization },
    body: `${sql} FORMAT JSONEachRow`,
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`expected ClickHouse to answer, got: ${answer.status} ${text.slice(0, 500)}`);
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}
