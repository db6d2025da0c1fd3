import type { EventStore, RowBatch, RunRef, StoreReader } from './eventstore.ts';
import { createFactOrder, orderSql, type FactsToOrder, type FactSlice, type OrderChange } from './run-facts.ts';
import {
  allTables,
  checkMonth,
  dropSql,
  runOfTable,
  runTableName,
  runTables,
  tableNamesSql,
  type RunTable,
  type RunTableRef,
} from './run-table-names.ts';
import { singleForm, type SchemaForm } from './schema-form.ts';
import { checkRun, checkToken } from './sql.ts';

/**
 * Port: tables for each import run, two of them of the same form as `events`. Rows are inserted as segments of the source are converted, in any
 * order, counted and compared there (run-table-reads.ts), and those of `rows` are then attached to `events` month by month without being
 * copied. Their changes to persons and groups are in `facts`, and again in the order in which they are applied
 * (run-facts.ts).
 *
 * Promises (checked by test/conformance/event-store/run-tables.ts for every adapter)
 * - Each call may be repeated after any interruption, including `kill -9` of the engine: its effects happen once.
 * - `insert` of the same segment, whole or after a partial write, leaves every row stored once. Once it resolves, the rows survive a
 *   kill, and the loss of a minority of a shard's replicas.
 * - `attach` adds a month's rows to `events` under the rules of that table: of equal identities the one received first is shown. Once it
 *   resolves, they are as safe as inserted ones. Attached again they change nothing that reads (FINAL) show.
 * - `orderFacts` starts over, whatever an earlier call has left.
 * - Only a run's project and id, which are checked, become SQL text.
 *
 * The position of a row in the source is its `received_at`: start of the run + number of the record in µs. So the first record of the source wins,
 * whatever the order of inserts. A separate column is not possible: the engine attaches parts only between tables of equal columns.
 *
 * The table never merges its parts. A merge would drop all but one row of an identity, and with them the report of duplicates. An
 * engine without that rule (MergeTree) would keep them, but its merged parts look free of duplicates once they are attached: FINAL
 * shows them twice in ClickHouse before 26.3.17. `events` merges the parts after they are attached.
 */
export interface RunTables {
  /** Creates `rows` and `facts` unless they exist. */
  create(run: RunRef): Promise<void>;
  /** Runs that have a table or a part of one, as a crash leaves it, once each; by project and id. */
  list(): Promise<RunRef[]>;
  /** Frees the disk space of all tables, except of parts that `events` has attached. Does nothing without tables. */
  drop(run: RunRef): Promise<void>;
  /**
   * Inserts rows of that run and project only. `segment` names the content of the batch, 1 to 100 characters of `[A-Za-z0-9_:.-]`, the
   * same at every retry. A segment is recognised among the last 10,000 months of segments; older ones would be stored twice, with
   * equal places. Rejects like `insertBatch`.
   */
  insert(run: RunRef, batch: RowBatch, segment: string, how?: RunInsert): Promise<void>;
  /** Attaches a month of `rows` (202403), if it has rows. Rejects if the columns of `events` have changed since the table was created. */
  attach(run: RunRef, month: number): Promise<void>;
  /** Lists partitions, ascending; empty without a table. */
  partitions(run: RunRef, of?: RunTable): Promise<RunPartition[]>;
  /** Sorts facts for `orderedFacts`: by component, time and place. */
  orderFacts(run: RunRef, facts: FactsToOrder): Promise<void>;
  /** Reads facts of the components [from, to) as JSON lines, in order, `limit` of them from `offset` on. */
  orderedFacts(run: RunRef, slice: FactSlice): Promise<Buffer>;
  /** Counts them in each of `slices` slices of equal width. */
  countOrderedFacts(run: RunRef, slices: number): Promise<number[]>;
}

export interface RunInsert {
  /** Default `rows`. */
  readonly table?: RunTable;
  /** As in `insertBatch`. */
  readonly isRepeated?: boolean;
}

export interface RunPartition {
  /** Month of the events' `day`: 202403 is March 2024. */
  readonly month: number;
  /** Stored rows, including duplicates. */
  readonly rows: number;
  /** On the disk of one replica of each shard; after `attach` shared with `events` until that merges them. */
  readonly bytes: number;
  /** Parts that `attach` adds. */
  readonly parts: number;
}

export interface RunStore extends EventStore {
  readonly runTables: RunTables;
}

export type RunTableChange =
  | { readonly kind: 'create' | 'drop'; readonly run: RunRef }
  | { readonly kind: 'attach'; readonly run: RunRef; readonly month: number }
  | OrderChange;

/** The adapter's part for these tables. */
export interface RunTableTransport {
  /** Runs the statements of `runTableSql`, those of shards on each shard. */
  change(change: RunTableChange): Promise<void>;
  insert(into: RunTableRef, batch: RowBatch, token: string, isRepeated: boolean): Promise<void>;
  /** Returns the rows of each replica, by shard. A replica that does not answer is excluded. */
  replicaRows<Row>(sql: string): Promise<Row[][][]>;
  query: StoreReader['query'];
  /** Queries one text column and returns its values, each followed by a newline. */
  lines(sql: string): Promise<Buffer>;
  readonly form: Pick<SchemaForm, 'rowsOf'>;
}

export function createRunTables(transport: RunTableTransport): RunTables {
  const { change, insert, replicaRows, form } = transport;
  return {
    create: async (run) => await change(checked({ kind: 'create', run })),
    drop: async (run) => await change(checked({ kind: 'drop', run })),
    attach: async (run, month) => await change(checked({ kind: 'attach', run, month })),
    async insert(run, batch, segment, { table = 'rows', isRepeated = false } = {}) {
      const token = segmentToken(run, segment);
      if (batch.rows > 0) await insert({ run, table }, batch, token, isRepeated);
    },
    async list() {
      const names = (await replicaRows<{ name: string }>(tableNamesSql)).flat(2);
      const runs = names.map(({ name }) => runOfTable(name)).filter((run) => run !== undefined);
      const byName = new Map(runs.map((run) => [runTableName({ run, table: 'rows' }), run]));
      return [...byName.values()].sort((a, b) => a.projectId - b.projectId || (a.runId < b.runId ? -1 : 1));
    },
    async partitions(run, table = 'rows') {
      const shards = await replicaRows<PartitionRow>(partitionsSql(form.rowsOf(runTableName({ run, table }))));
      const months = Map.groupBy(shards.flatMap(mostRows), ({ month }) => Number(month));
      const sum = (of: readonly PartitionRow[], key: 'rows' | 'bytes' | 'parts'): number =>
        of.reduce((all, row) => all + Number(row[key]), 0);
      return [...months]
        .map(([month, of]) => ({ month, rows: sum(of, 'rows'), bytes: sum(of, 'bytes'), parts: sum(of, 'parts') }))
        .sort((a, b) => a.month - b.month);
    },
    ...createFactOrder(transport),
  };
}

/** Throws before anything is sent to the store. */
function checked(change: RunTableChange): RunTableChange {
  runTableSql(change);
  return change;
}

function segmentToken(run: RunRef, segment: string): string {
  checkRun(run);
  if (segment.length > 0 && segment.length <= 100) return checkToken(segment);
  throw new TypeError(`expected a segment of 1 to 100 characters, got ${JSON.stringify(segment)}`);
}

interface PartitionRow {
  readonly month: string;
  readonly rows: string;
  readonly bytes: string;
  readonly parts: string;
}

/** A replica that is behind has fewer. */
function mostRows(replicas: readonly PartitionRow[][]): PartitionRow[] {
  const months = Map.groupBy(replicas.flat(), ({ month }) => month);
  return [...months.values()].map((of) =>
    of.reduce((most, each) => (Number(each.rows) > Number(most.rows) ? each : most)),
  );
}

const partitionsSql = (table: string): string =>
  `SELECT partition_id AS month, sum(rows) AS rows, sum(bytes_on_disk) AS bytes, count() AS parts FROM system.parts
WHERE database = currentDatabase() AND table = '${table}' AND active GROUP BY partition_id`;

/** More parts per month than a run has segments. Beyond it inserts are refused; use larger segments then. */
const partsMax = 10_000;

/** Returns statements to run in this order; each may be repeated. */
export function runTableSql(change: RunTableChange, form: SchemaForm = singleForm): readonly string[] {
  const { run } = change;
  switch (change.kind) {
    case 'create':
      return runTables.flatMap((table) => createSql(runTableName({ run, table }), form));
    case 'drop':
      return allTables.flatMap((table) => dropSql(runTableName({ run, table }), form));
    case 'attach': {
      const rows = form.rowsOf(runTableName({ run, table: 'rows' }));
      return [`ALTER TABLE ${form.rowsOf('events')} ATTACH PARTITION ID '${checkMonth(change.month)}' FROM ${rows}`];
    }
    default:
      return orderSql(change, form);
  }
}

function createSql(table: string, form: SchemaForm): readonly string[] {
  return [
    // A unique path for each table of the name: a replica that was unavailable at a drop must not bring its rows back.
    `CREATE TABLE IF NOT EXISTS ${form.rowsOf(table)}${form.everywhere} AS ${form.rowsOf('events')}
ENGINE = ${form.engine('ReplacingMergeTree', `${table}/{uuid}`, 'first_wins')}
PARTITION BY toYYYYMM(day)
ORDER BY (project_id, day, event, cityHash64(distinct_id), uuid)
SETTINGS ${form.tokenWindow}, fsync_after_insert = 1, fsync_part_directory = 1,
  max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1,
  parts_to_delay_insert = ${partsMax}, parts_to_throw_insert = ${partsMax}`,
    ...form.readThroughAs(table, 'events'),
  ];
}
