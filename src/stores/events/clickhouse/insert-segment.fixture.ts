/** A process for tests that inserts the segment `0` into the table of a run, given as JSON, until it is killed. */
import { insertSegment, runRow } from '../../../../test/support/run-table-rows.ts';
import type { RunRef } from '../eventstore.ts';
import { connectClickhouse } from './connect-clickhouse.ts';

const { run, uuids } = JSON.parse(process.argv[2] ?? '') as { readonly run: RunRef; readonly uuids: readonly string[] };
const store = await connectClickhouse(process.env.CLICKHOUSE_URL ?? '', {
  cluster: process.env.MILLRACE_CLICKHOUSE_CLUSTER ?? '',
  replicas: process.env.MILLRACE_CLICKHOUSE_REPLICAS ?? '',
  migrates: false,
});
const rows = uuids.map((uuid, n) => runRow(run, n, { uuid, distinctId: `user-${n}` }));
await insertSegment(store, run, '0', rows);
