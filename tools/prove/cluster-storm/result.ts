/** What came of a round, and in what it differs from another one. */
import type { EventStore } from '../../../src/stores/events/eventstore.ts';
import type { Metadata } from '../../../src/stores/metadata/database.ts';
import { projectState, type ProjectState } from '../../../test/support/project-state.ts';
import type { Mishap } from './chaos.ts';
import { circleIds } from './events.ts';
import { isTooLong, type Pause } from '../replica-outages.ts';
import type { StormProject } from './projects.ts';
import { keptLine, type LogWitness } from './witness.ts';

export interface StormStores {
  readonly db: Metadata;
  readonly store: EventStore;
}

export interface StormResult {
  readonly projects: readonly StormProject[];
  /** `log:lane:from`, each with every end that was inserted. */
  readonly rangesWithTwoEnds: readonly string[];
  /** Shards whose replicas do not have the same rows. */
  readonly replicas: readonly string[];
  /** Of storing, by outage of a ClickHouse replica. */
  readonly pauses: readonly Pause[];
  /** Records of the log that were not processed when time was up. */
  readonly waiting: number;
  /** Batches that lie in the log twice. */
  readonly repeated: number;
  /** Records that the witness has missed: what plugins have kept is not compared then. */
  readonly missed: string | undefined;
  /** How often slots were taken. */
  readonly claims: number;
  /** Undefined: nothing happened to anybody. */
  readonly mishaps: Readonly<Record<Mishap, number>> | undefined;
  /** Processes that ended unexpectedly, with their last output. */
  readonly failures: readonly string[];
}

/** Beyond, events are compared by sums over each day and name. */
const listedMax = 60_000;

/** Properties of persons in a circle are only compared by name if a batch is in the log twice. */
async function stateOf(
  stores: StormStores,
  { id, label }: StormProject,
  events: number,
  repeated: ReadonlySet<string>,
): Promise<ProjectState> {
  const runs = new Map([[label, 'transformation']]);
  return await projectState(stores, id, { named: false, grouped: events > listedMax, runs, repeated });
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

export interface Compared {
  readonly stores: StormStores;
  readonly witness: LogWitness;
  /** Sent in each round. */
  readonly events: number;
}

/** A line for each kind. */
export async function differences(
  { stores, witness, events }: Compared,
  calm: StormResult,
  storm: StormResult,
): Promise<string[]> {
  const found = storm.rangesWithTwoEnds.map((range) => `a range of the log with two ends: ${range}`);
  // Suspended pipelines, Kafka and PostgreSQL cause longer ones.
  const pauses = storm.mishaps === undefined ? storm.pauses.filter(isTooLong) : [];
  found.push(
    ...storm.replicas,
    ...pauses.map(({ outage, seconds }) => `nothing was stored for ${seconds} s: ${outage}`),
  );
  if (storm.waiting > 0) found.push(`${storm.waiting} records of the log wait`);
  for (const [index, { id, ...project }] of storm.projects.entries()) {
    const before = calm.projects[index];
    if (before === undefined) throw new Error('expected the same projects');
    const compare = (what: string, wanted: readonly string[], got: readonly string[]): void => {
      found.push(...difference(`${what} of project ${index}`, wanted, got));
    };
    const repeated = new Set(circleIds([...witness.repeated(id).ids, ...witness.repeated(before.id).ids]));
    const wanted = await stateOf(stores, before, events, repeated);
    const got = await stateOf(stores, { id, ...project }, events, repeated);
    compare('events', wanted.events, got.events);
    compare('persons', wanted.persons, got.persons);
    compare('groups', wanted.groups, got.groups);
    compare('usage', [JSON.stringify(wanted.usage)], [JSON.stringify(got.usage)]);
    if (storm.missed === undefined)
      compare('what the plugin keeps', project.isCounted ? witness.kept(id) : [], await keptOf(stores.db, id));
    compare('dead letters', await deadLettersOf(stores.db, before.id), await deadLettersOf(stores.db, id));
  }
  return found;
}

function difference(what: string, wanted: readonly string[], got: readonly string[]): string[] {
  const [all, stored] = [new Set(wanted), new Set(got)];
  const missing = wanted.filter((line) => !stored.has(line));
  const more = got.filter((line) => !all.has(line));
  if (wanted.length === got.length && missing.length + more.length === 0) return [];
  const counts = `${wanted.length} expected, ${got.length} found, ${missing.length} missing, ${more.length} others`;
  return [`${what}: ${counts}; e.g. ${missing[0] ?? '-'} / ${more[0] ?? '-'}`];
}
