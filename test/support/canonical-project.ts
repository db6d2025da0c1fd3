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

export type CanonicalKind = keyof CanonicalProject;

export async function canonicalProject(url: string): Promise<CanonicalProject> {
  const sorted = async (kind: CanonicalKind): Promise<string[]> =>
    (await Array.fromAsync(canonicalItems(url, kind))).sort();
  return { events: await sorted('events'), persons: await sorted('persons'), groups: await sorted('groups') };
}

/** Yields the items in no particular order. */
export async function* canonicalItems(url: string, kind: CanonicalKind): AsyncGenerator<string> {
  const root = `${url}/api/projects/@current`;
  if (kind === 'events') {
    for await (const event of pages(`${root}/events/?limit=1000`)) yield canonicalJson(unmarked(event));
  } else if (kind === 'persons') {
    for await (const person of pages(`${root}/persons/?limit=1000`)) yield canonicalJson(person);
  } else {
    const types = (await read(`${root}/groups_types/`)) as { group_type: string; group_type_index: number }[];
    for (const { group_type: type, group_type_index: index } of types) {
      const groups = pages(`${root}/groups/?limit=1000&group_type_index=${index}`);
      for await (const group of groups) yield canonicalJson({ type, ...group });
    }
  }
}

function unmarked({ id, event, distinct_id, timestamp, properties }: Shown): object {
  const own = Object.entries(properties as Shown).filter(([key]) => !marks.has(key));
  return { id, event, distinct_id, timestamp, properties: Object.fromEntries(own) };
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
