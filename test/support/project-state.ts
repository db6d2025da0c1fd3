import { join } from 'node:path';
import type { EventStore } from '../../src/stores/events/eventstore.ts';
import { usageByDay } from '../../src/stores/events/counts.ts';
import type { Metadata } from '../../src/stores/metadata/database.ts';
import { openSqlite } from '../../src/stores/metadata/sqlite.ts';
import { personUuid } from '../../src/pipeline/persons/person.ts';
import { parseRegisters } from '../../src/pipeline/persons/registers-text.ts';
import { tempChdb } from './chdb.ts';

/** Everything that a project has of events, persons and groups, in a form in which two projects can be compared. */
export interface ProjectState {
  readonly events: readonly string[];
  readonly persons: readonly string[];
  readonly groups: readonly string[];
  /** Of all days together: the day of arrival differs. */
  readonly usage: { readonly standard: number; readonly historical: number };
}

/** Of a project, default the first, of a service that is stopped. `runs`: those whose events it has, in an order that both have. */
export async function stateOfStopped(
  dataDir: string,
  {
    runs,
    repeated,
    grouped = false,
    project = 1,
  }: {
    readonly runs: readonly string[];
    readonly repeated: ReadonlySet<string>;
    readonly grouped?: boolean;
    readonly project?: number;
  },
): Promise<ProjectState> {
  const chdb = await tempChdb({ queryTimeoutMs: 300_000, memoryBytesMax: 2 ** 31 }, dataDir);
  const db = openSqlite(join(dataDir, 'metadata.sqlite'));
  try {
    const names = new Map(runs.map((id, index) => [id, `run-${index}`]));
    return await projectState({ store: chdb.store, db }, project, { runs: names, grouped, named: false, repeated });
  } finally {
    await chdb.close();
    await db.destroy();
  }
}

/**
 * `named`: after which of its ids each person is named; that follows from the order of arrival.
 * `runs`: their ids differ from project to project; what to call them. `grouped`: of events a sum over each day and name, where
 * they are too many to list. `repeated`: ids with an event that came twice. Of two rows of one event the store keeps one, but what both
 * said counted, at its time: where such a person was joined with another, their properties are compared by name only.
 */
export async function projectState(
  { store, db }: { readonly store: EventStore; readonly db: Metadata },
  projectId: number,
  {
    runs = new Map(),
    grouped = false,
    named = true,
    repeated = new Set(),
  }: {
    readonly runs?: ReadonlyMap<string, string>;
    readonly grouped?: boolean;
    readonly named?: boolean;
    readonly repeated?: ReadonlySet<string>;
  } = {},
): Promise<ProjectState> {
  let properties = 'properties';
  for (const [id, name] of runs) properties = `replaceAll(${properties}, '${id}', '${name}')`;
  const line = `concat(toString(day), ' ', event, ' ', distinct_id, ' ', toString(uuid), ' ', toString(timestamp), ' ', ${properties})`;
  const from = 'FROM events FINAL WHERE project_id = {project:Int32}';
  const sums = `concat(toString(day), ' ', event, ' ', toString(count()), ' ', toString(sum(cityHash64(${line}))))`;
  const events = await store.query<{ line: string }>(
    grouped ? `SELECT ${sums} AS line ${from} GROUP BY day, event` : `SELECT ${line} AS line ${from}`,
    { project: projectId },
  );
  const usage = await usageByDay(store, projectId, {});
  const sum = (of: 'standard' | 'historical'): number => usage.reduce((all, day) => all + day[of], 0);
  return {
    events: events.map((row) => row.line).sort(),
    persons: await personsOf(db, projectId, named, repeated),
    groups: await groupsOf(db, projectId),
    usage: { standard: sum('standard'), historical: sum('historical') },
  };
}

/** With the id that each is named after, since that gives its uuid. */
async function personsOf(
  db: Metadata,
  projectId: number,
  isNamed: boolean,
  repeated: ReadonlySet<string>,
): Promise<string[]> {
  const ids = await db.selectFrom('person_distinct_ids').selectAll().where('project_id', '=', projectId).execute();
  const persons = await db.selectFrom('persons').selectAll().where('project_id', '=', projectId).execute();
  const idsOf = Map.groupBy(ids, (row) => row.person_uuid);
  return persons
    .map((person) => {
      const own = (idsOf.get(person.uuid) ?? []).map((row) => row.distinct_id);
      const named = isNamed ? own.find((id) => personUuid(projectId, id) === person.uuid) : undefined;
      const registers = sorted(person.registers);
      const isByName = own.length > 1 && own.some((id) => repeated.has(id));
      return JSON.stringify([
        own.sort(),
        named,
        Number(person.created_at_micros),
        person.is_identified,
        isByName ? Object.keys(registers) : registers,
      ]);
    })
    .sort();
}

async function groupsOf(db: Metadata, projectId: number): Promise<string[]> {
  const rows = await db
    .selectFrom('groups as g')
    .innerJoin('group_types as t', (join) =>
      join.onRef('t.project_id', '=', 'g.project_id').onRef('t.type_index', '=', 'g.type_index'),
    )
    .select(['t.name', 'g.group_key', 'g.created_at_micros', 'g.registers'])
    .where('g.project_id', '=', projectId)
    .execute();
  return rows
    .map((row) => JSON.stringify([row.name, row.group_key, Number(row.created_at_micros), sorted(row.registers)]))
    .sort();
}

/** Registers by name: stores differ in the text that they keep of them. */
function sorted(text: string): object {
  return Object.fromEntries([...parseRegisters(text)].sort(([a], [b]) => (a < b ? -1 : 1)));
}
