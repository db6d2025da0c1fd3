/** What came of a round, and in what it differs from another one. */
import type { EventStore } from '../../src/eventstore/eventstore.ts';
import type { Metadata } from '../../src/metadata/database.ts';
import { projectState, type ProjectState } from '../../test/support/project-state.ts';
import type { StormProject } from './storm-projects.ts';
import { keptLine, type LogWitness } from './storm-witness.ts';

export interface StormStores {
  readonly db: Metadata;
  readonly store: EventStore;
}

export interface ProjectResult {
  readonly state: ProjectState;
  /** What its transformation has kept, and what it must have after what lies in the log. */
  readonly kept: readonly string[];
  readonly toBeKept: readonly string[];
  readonly deadLetters: readonly string[];
}

export interface StormResult {
  readonly projects: readonly ProjectResult[];
  /** `log:lane:from`, each with every end that was inserted. */
  readonly rangesWithTwoEnds: readonly string[];
  /** Records of the log that nobody has processed when time is up. */
  readonly waiting: number;
}

/** Beyond, events are compared by sums over each day and name. */
const listedMax = 60_000;

export async function readProject(
  { db, store }: StormStores,
  { id, label }: StormProject,
  witness: LogWitness,
  events: number,
): Promise<ProjectResult> {
  const form = { named: false, grouped: events > listedMax, runs: new Map([[label, 'counts']]) };
  return {
    state: await projectState({ store, db }, id, form),
    kept: await keptOf(db, id),
    toBeKept: witness.kept(id),
    deadLetters: await deadLettersOf(db, id),
  };
}

async function keptOf(db: Metadata, projectId: number): Promise<string[]> {
  const query = db.selectFrom('plugin_storage').select(['key', 'value']).where('project_id', '=', projectId);
  const rows = await query.execute();
  return rows
    .map(({ key, value }) => {
      const { times, sum } = JSON.parse(value) as { times: number; sum: number };
      return keptLine(key, times, sum);
    })
    .sort();
}

async function deadLettersOf(db: Metadata, projectId: number): Promise<string[]> {
  const query = db.selectFrom('dead_letters').select('reason').where('project_id', '=', projectId);
  return (await query.execute()).map(({ reason }) => reason).sort();
}

/** Names of inserts say which range of the log they hold: one that began at the same place must have ended at the same. */
export function twoEnds(statements: readonly string[]): string[] {
  const ends = new Map<string, Set<string>>();
  for (const statement of statements) {
    const [, log, lane, from, to = ''] = /'([A-Za-z0-9-]{8,36}):(live|historical):(\d+)-(\d+)/.exec(statement) ?? [];
    if (from === undefined) continue;
    const name = `${log}:${lane}:${from}`;
    ends.set(name, (ends.get(name) ?? new Set()).add(to));
  }
  if (ends.size === 0) throw new Error('expected the inserts to be named after ranges of the log, found none');
  return [...ends].filter(([, found]) => found.size > 1).map(([name, found]) => `${name}-${[...found].join(' and ')}`);
}

/** A line for each kind. */
export function differences(calm: StormResult, storm: StormResult): string[] {
  const found: string[] = [];
  const compare = (what: string, wanted: readonly string[], got: readonly string[]): void => {
    const [all, stored] = [new Set(wanted), new Set(got)];
    const missing = wanted.filter((line) => !stored.has(line));
    const more = got.filter((line) => !all.has(line));
    if (wanted.length === got.length && missing.length + more.length === 0) return;
    const counts = `${wanted.length} expected, ${got.length} found, ${missing.length} missing, ${more.length} others`;
    found.push(`${what}: ${counts}; e.g. ${missing[0] ?? '-'} / ${more[0] ?? '-'}`);
  };
  if (storm.waiting > 0) found.push(`${storm.waiting} records of the log wait`);
  for (const range of storm.rangesWithTwoEnds) found.push(`a range of the log with two ends: ${range}`);
  for (const [index, own] of calm.projects.entries()) {
    const other = storm.projects[index];
    if (other === undefined) throw new Error('expected the same projects');
    compare(`events of project ${index}`, own.state.events, other.state.events);
    compare(`persons of project ${index}`, own.state.persons, other.state.persons);
    compare(`groups of project ${index}`, own.state.groups, other.state.groups);
    compare(`usage of project ${index}`, [JSON.stringify(own.state.usage)], [JSON.stringify(other.state.usage)]);
    compare(`what the plugin of project ${index} keeps`, other.toBeKept, other.kept);
    compare(`dead letters of project ${index}`, own.deadLetters, other.deadLetters);
  }
  return found;
}
