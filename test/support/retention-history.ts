/**
 * A generated history over 36 months for proofs of retention: two projects, several names, live and historical. Every row follows from its
 * number, here in JavaScript and there in SQL, so that what must remain is computed without the store.
 */
import { Session } from 'chdb';
import type { RetentionPolicy } from '../../src/wire/contract/retention.ts';
import type { StoreReader } from '../../src/stores/events/eventstore.ts';

export const historyMonths = 36;
export const historyProjects = [1, 2] as const;
/** The day on which the policies apply; the history ends in this month. */
export const historyNow = Date.parse('2026-11-28T12:00:00Z');
const names = ['$pageview', 'heartbeat', 'order\'s "placed"', '鞋 👟', 'purchase'] as const;
const firstMonth = { year: 2023, month: 11 };
const dayMs = 86_400_000;
const rowsPerInsert = 1_000_000;

/** Number and XOR of the row numbers of events with the same project, month, name and kind. */
interface Cell {
  readonly events: number;
  readonly xor: number;
}
export type Cells = ReadonlyMap<string, Cell>;

interface Row {
  readonly project: number;
  readonly month: number;
  readonly event: string;
  readonly historical: boolean;
  /** ms since the epoch. */
  readonly time: number;
}

function rowOf(n: number): Row {
  const month = n % 36;
  const day = Math.floor(n / 1080) % 28;
  const start = Date.UTC(firstMonth.year, firstMonth.month + month, 1);
  return {
    project: 1 + (Math.floor(n / 36) % 2),
    month,
    event: names[Math.floor(n / 72) % 5] ?? '',
    historical: Math.floor(n / 360) % 3 === 0,
    time: start + day * dayMs + (n % 86_400) * 1000,
  };
}

/** The same as `rowOf`. */
function insertSql(from: number, to: number): string {
  const list = names.map((name) => `unhex('${Buffer.from(name).toString('hex')}')`).join(', ');
  return `INSERT INTO millrace.events
  (project_id, day, event, uuid, distinct_id, timestamp, properties, historical_migration, received_at, import_run)
SELECT 1 + intDiv(n, 36) % 2, toDate32(at), [${list}][1 + intDiv(n, 72) % 5],
  toUUID(concat('00000000-0000-4000-8000-', leftPad(toString(n), 12, '0'))), concat('user-', toString(n % 100003)), at,
  concat('{"path":"/p/', toString(n % 1000), '","session":"', hex(cityHash64(n)), '","order":"', hex(cityHash64(n + 1)), '"}'),
  intDiv(n, 360) % 3 = 0, toDateTime64('2026-11-01 00:00:00', 6, 'UTC'), if(intDiv(n, 360) % 3 = 0, 'run-1', '')
FROM (
  SELECT number AS n, toDateTime64(addSeconds(addDays(addMonths(toDateTime('2023-12-01 00:00:00', 'UTC'), n % 36),
    intDiv(n, 1080) % 28), n % 86400), 6, 'UTC') AS at
  FROM numbers(${from}, ${to - from})
)
SETTINGS max_partitions_per_insert_block = 0, max_insert_threads = 1, insert_deduplicate = 0`;
}

/** Inserts rows into the tables of a store that no process has open. */
export async function insertHistory(dir: string, rows: number): Promise<void> {
  const session = new Session(dir);
  for (let from = 0; from < rows; from += rowsPerInsert) {
    await session.queryAsync(insertSql(from, Math.min(rows, from + rowsPerInsert)));
  }
  session.close();
}

const keyOf = ({ project, month, event, historical }: Omit<Row, 'time'>): string =>
  JSON.stringify([project, month, event, historical]);

/** Splits the generated rows by the policies, by a rule that is written apart from the service's. */
export function splitHistory(
  rows: number,
  policies: ReadonlyMap<number, RetentionPolicy>,
): { readonly kept: Cells; readonly expired: Cells } {
  const [kept, expired] = [new Map<string, Cell>(), new Map<string, Cell>()];
  const today = Math.floor(historyNow / dayMs) * dayMs;
  for (let n = 0; n < rows; n++) {
    const row = rowOf(n);
    const policy = policies.get(row.project);
    const rule = policy?.events.find(({ event }) => event === row.event) ?? policy;
    const days = (row.historical ? rule?.historical_days : rule?.live_days) ?? null;
    const into = days !== null && row.time < today - days * dayMs ? expired : kept;
    const key = keyOf(row);
    const { events, xor } = into.get(key) ?? { events: 0, xor: 0 };
    into.set(key, { events: events + 1, xor: xor ^ n });
  }
  return { kept, expired };
}

/** Reads the same from the store. */
export async function storedHistory(store: StoreReader): Promise<Cells> {
  const rows: { p: number; m: number; e: string; h: boolean; c: string; x: string }[] = [];
  // A few months at a time, because duplicates are merged in memory.
  for (let month = 0; month < historyMonths; month += 6) {
    const sql = `SELECT project_id AS p, toInt32(dateDiff('month', toDate32('2023-12-01'), day)) AS m, toString(event) AS e,
  historical_migration AS h, count() AS c, groupBitXor(toUInt64(substring(toString(uuid), 25))) AS x
FROM events FINAL 
WHERE day >= addMonths(toDate32('2023-12-01'), ${month}) AND day < addMonths(toDate32('2023-12-01'), ${month + 6})
GROUP BY p, m, e, h`;
    rows.push(...(await store.query<(typeof rows)[number]>(sql)));
  }
  return new Map(
    rows.map(({ p, m, e, h, c, x }) => [
      keyOf({ project: p, month: Number(m), event: e, historical: h }),
      { events: Number(c), xor: Number(x) },
    ]),
  );
}

export function eventsOf(cells: Cells): number {
  return [...cells.values()].reduce((sum, { events }) => sum + events, 0);
}

const keepAll: RetentionPolicy = { live_days: null, historical_days: null, events: [] };
const days = (count: number | null) => ({ live_days: count, historical_days: count });

/** Whole months go: what is before December 2025, for both projects. */
export const wholeMonths: ReadonlyMap<number, RetentionPolicy> = new Map(
  historyProjects.map((project) => [project, { ...keepAll, ...days(362) }]),
);

/** Months that both projects share, names and kinds with other days. */
export const mixed: ReadonlyMap<number, RetentionPolicy> = new Map([
  [
    1,
    {
      live_days: 362,
      historical_days: 270,
      events: [
        { event: 'heartbeat', ...days(35) },
        { event: 'order\'s "placed"', ...days(null) },
        { event: '鞋 👟', live_days: null, historical_days: 45 },
      ],
    },
  ],
  [2, { ...keepAll, live_days: 300, events: [{ event: 'purchase', live_days: 362, historical_days: 362 }] }],
]);
