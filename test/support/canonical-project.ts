import { canonicalJson } from '../../src/base/canonical-json.ts';
import { parseExactValues } from '../../src/base/exact-json.ts';
import type { JsonValue } from '../../src/base/json.ts';
import { personalKey } from './server.ts';

/** What the API shows of a project, in a form that can be compared; numbers with every digit. */
export interface CanonicalProject {
  readonly events: readonly string[];
  readonly persons: readonly string[];
  readonly groups: readonly string[];
}

type Shown = Readonly<Record<string, JsonValue>>;

/** Marks that an import adds: its run, that its events are not located, and what an `$identify` meant where it was captured. */
const marks = new Set(['$import_run_id', '$geoip_disable', '$import_identity']);

export async function canonicalProject(url: string): Promise<CanonicalProject> {
  const root = `${url}/api/projects/@current`;
  const events = await canonical(
    pages(`${root}/events/?limit=1000`),
    ({ id, event, distinct_id, timestamp, properties }) => ({
      id,
      event,
      distinct_id,
      timestamp,
      properties: Object.fromEntries(Object.entries(properties as Shown).filter(([key]) => !marks.has(key))),
    }),
  );
  const persons = await canonical(pages(`${root}/persons/?limit=1000`), (person) => person);
  const types = (await read(`${root}/groups_types/`)) as unknown as { group_type: string; group_type_index: number }[];
  const groups: string[] = [];
  for (const { group_type: type, group_type_index: index } of types) {
    const found = await canonical(pages(`${root}/groups/?limit=1000&group_type_index=${index}`), (group) => ({
      type,
      ...group,
    }));
    groups.push(...found);
  }
  return { events, persons, groups: groups.sort() };
}

async function canonical(shown: AsyncIterable<Shown>, of: (item: Shown) => object): Promise<string[]> {
  const texts: string[] = [];
  for await (const item of shown) texts.push(canonicalJson(of(item)) ?? '');
  return texts.sort();
}

async function* pages(first: string): AsyncGenerator<Shown> {
  for (let url: string | null = first; url !== null;) {
    const page: { results: Shown[]; next: string | null } = (await read(url)) as never;
    yield* page.results;
    url = page.next;
  }
}

async function read(url: string): Promise<unknown> {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${personalKey}` } });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`expected 200 from ${url}, got: ${answer.status} ${text}`);
  return parseExactValues(text);
}
