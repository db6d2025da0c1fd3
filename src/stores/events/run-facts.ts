import { assert } from '../../base/assert.ts';
import type { RunRef } from './eventstore.ts';
import type { SchemaForm } from './schema-form.ts';
import { checkMonth, dropSql, orderTables, runTableName, type RunTable } from './run-table-names.ts';
import type { RunTables, RunTableTransport } from './run-tables.ts';

/**
 * Facts of a run in the order in which they are applied to persons. Persons only affect each other where a merge names two of their
 * ids, so ids form components, and the order of time only matters within a component. Component by component, each person is read
 * and written once.
 *
 * `components` has the CRC-32 of each id that a merge names, with its component; any other id is its own component, named by its
 * CRC-32. Ids with the same CRC-32 by chance share a component, which is harmless. `ordered` has the facts, sorted.
 */
export interface FactsToOrder {
  /** With `rows`, the events themselves serve as their facts. */
  readonly from: RunTable;
  /** 202403 is March 2024. */
  readonly months: readonly number[];
  /** Pairs of an id's CRC-32 and its component, from 1 to 2^32 - 1, some thousands of pairs at a time. */
  readonly components: Iterable<Uint32Array>;
  /** Number of components that the engine holds in memory together, about 30 bytes each. Tests reduce it. */
  readonly componentsPerPass?: number;
}

export interface FactSlice {
  /** Range of components, half open. */
  readonly from: number;
  readonly to: number;
  readonly limit: number;
  readonly offset: number;
}

export type OrderChange = { readonly run: RunRef } & (
  | { readonly kind: 'begin-order' }
  /** `pairs` is base64, little-endian. */
  | { readonly kind: 'add-components'; readonly pairs: string; readonly count: number }
  | { readonly kind: 'order'; readonly from: RunTable; readonly months: readonly number[]; readonly pass: OrderPass }
);

/** The ids processed together: those with this remainder. */
interface OrderPass {
  readonly remainder: number;
  readonly of: number;
}

/** One more than the last component. */
const componentsEnd = 2 ** 32;
/** The text of a statement is limited to 256 KiB. */
export const pairsMax = 16_384;
const componentsPerPassDefault = 4_000_000;

type FactOrder = Pick<RunTables, 'orderFacts' | 'orderedFacts' | 'countOrderedFacts'>;

export function createFactOrder({ change, query, lines }: RunTableTransport): FactOrder {
  const ordered = (run: RunRef): string => runTableName({ run, table: 'ordered' });
  return {
    orderFacts: async (run, { from, months, components, componentsPerPass = componentsPerPassDefault }) => {
      await change({ kind: 'begin-order', run });
      let count = 0;
      for (const pairs of components) {
        const bytes = Buffer.from(pairs.buffer, pairs.byteOffset, pairs.byteLength);
        await change({ kind: 'add-components', run, pairs: bytes.toString('base64'), count: pairs.length / 2 });
        count += pairs.length / 2;
      }
      const of = Math.max(1, Math.ceil(count / componentsPerPass));
      for (let remainder = 0; remainder < of; remainder++) {
        await change({ kind: 'order', run, from, months, pass: { remainder, of } });
      }
    },
    orderedFacts: async (run, { from, to, limit, offset }) =>
      await lines(`SELECT ${lineSql} FROM ${ordered(run)}
PREWHERE component >= ${checkCount(from)} AND component < ${checkCount(to)}
ORDER BY ${order} LIMIT ${checkCount(limit)} OFFSET ${checkCount(offset)}`),
    countOrderedFacts: async (run, slices) => {
      const rows = await query<{ slice: number; facts: string }>(
        `SELECT toUInt32(intDiv(component, ${sliceWidth(slices)})) AS slice, count() AS facts FROM ${ordered(run)} GROUP BY slice`,
      );
      const counts = Array.from({ length: slices }, () => 0);
      for (const { slice, facts } of rows) counts[slice] = Number(facts);
      return counts;
    },
  };
}

/** Returns the number of components per slice. */
export function sliceWidth(slices: number): number {
  return Math.ceil(componentsEnd / checkCount(slices));
}

const order = 'component, timestamp, received_at, event, cityHash64(distinct_id), uuid';
/** An event in the form that clients send. */
const lineSql = `concat('{"uuid":"', toString(uuid), '","event":', toJSONString(toString(event)), ',"distinct_id":', toJSONString(distinct_id),
  ',"timestamp":"', replaceOne(toString(timestamp, 'UTC'), ' ', 'T'), 'Z","properties":', properties, '}')`;
const columns = `component UInt32,
  timestamp DateTime64(6, 'UTC'),
  received_at DateTime64(6, 'UTC'),
  event LowCardinality(String),
  distinct_id String,
  uuid UUID,
  properties String`;

export function orderSql(change: OrderChange, form: SchemaForm): readonly string[] {
  const { run } = change;
  const [components, ordered] = orderTables.map((table) => runTableName({ run, table })) as [string, string];
  switch (change.kind) {
    case 'begin-order':
      return [
        ...dropSql(components, form),
        ...dropSql(ordered, form),
        `CREATE TABLE IF NOT EXISTS ${form.rowsOf(components)}${form.everywhere} (id UInt32, component UInt32)
ENGINE = ${form.engine('ReplacingMergeTree', `${components}/{uuid}`, 'component')} ORDER BY id`,
        // Small granules, since a slice is a small part of each part of the table.
        `CREATE TABLE IF NOT EXISTS ${form.rowsOf(ordered)}${form.everywhere} (
  ${columns}
)
ENGINE = ${form.engine('ReplacingMergeTree', `${ordered}/{uuid}`, 'component')} ORDER BY (${order})
SETTINGS index_granularity = 1024,
  max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1`,
        ...form.readThroughUnkeyed(ordered, columns),
      ];
    case 'add-components': {
      const { pairs, count } = change;
      assert(/^[A-Za-z0-9+/]+={0,2}$/.test(pairs) && count <= pairsMax, `at most ${pairsMax} pairs in base64`);
      const word = (at: string): string => `reinterpretAsUInt32(substring(packed, ${at}, 4))`;
      return [
        `INSERT INTO ${form.rowsOf(components)} (id, component)
SELECT ${word('number * 8 + 1')}, ${word('number * 8 + 5')}
FROM (SELECT base64Decode('${pairs}') AS packed, number FROM numbers(${checkCount(count)}))
SETTINGS insert_deduplicate = 0`,
      ];
    }
    case 'order': {
      const { from, months, pass } = change;
      const ofPass = `id % ${checkCount(pass.of)} = ${checkCount(pass.remainder)}`;
      return [
        `INSERT INTO ${form.rowsOf(ordered)} (component, timestamp, received_at, event, distinct_id, uuid, properties)
SELECT if(found.component = 0, facts.id, found.component), timestamp, received_at, event, distinct_id, uuid, properties
FROM (
  SELECT CRC32(distinct_id) AS id, timestamp, received_at, event, distinct_id, uuid, properties
  FROM ${form.rowsOf(runTableName({ run, table: from }))} FINAL
  WHERE toYYYYMM(day) IN (${months.map(checkMonth).join(', ')}) AND ${ofPass}
) AS facts
ANY LEFT JOIN (SELECT id, component FROM ${form.rowsOf(components)} WHERE ${ofPass}) AS found ON found.id = facts.id
SETTINGS insert_deduplicate = 0, optimize_on_insert = 0, do_not_merge_across_partitions_select_final = 1,
  min_insert_block_size_bytes = ${blockBytes}`,
      ];
    }
  }
}

/** Memory of a block of sorted facts before it is written. */
const blockBytes = 64 * 1024 * 1024;

function checkCount(count: number): number {
  assert(Number.isSafeInteger(count) && count >= 0, `a whole number, got ${count}`);
  return count;
}
