import type { SchemaForm } from '../schema-form.ts';

const columns = `project_id Int32,
  day Date32,
  event LowCardinality(String),
  uuid UUID,
  distinct_id String,
  timestamp DateTime64(6, 'UTC'),
  properties String CODEC(ZSTD(1)),
  historical_migration Bool,
  received_at DateTime64(6, 'UTC')`;

/**
 * The events. One row per identity (project_id, day, event, distinct_id, uuid); of equal ones the first received is kept.
 *
 * - `day` is the day of the event's own client timestamp: the identity must not depend on clock correction, which differs
 *   from one attempt of sending to the next.
 * - `first_wins` decreases as received_at increases, because the engine keeps the row with the highest version. 2^62 keeps it
 *   positive for every time that fits.
 * - The day decides the partition, and project and distinct_id the shard, so duplicates always meet in one partition.
 * - The two fsync settings make a resolved insert survive a power cut; the window makes a repeated token harmless.
 */
export const events = (form: SchemaForm): readonly string[] => [
  `CREATE TABLE IF NOT EXISTS ${form.rowsOf('events')}${form.everywhere} (
  ${columns},
  first_wins UInt64 MATERIALIZED toUInt64(4611686018427387904 - toUnixTimestamp64Micro(received_at)),
  INDEX timestamp_range timestamp TYPE minmax GRANULARITY 1,
  INDEX received_range received_at TYPE minmax GRANULARITY 1
)
ENGINE = ${form.engine('ReplacingMergeTree', 'events', 'first_wins')}
PARTITION BY toYYYYMM(day)
ORDER BY (project_id, day, event, cityHash64(distinct_id), uuid)
SETTINGS ${form.tokenWindow}, fsync_after_insert = 1, fsync_part_directory = 1`,
  ...form.readThrough('events', columns),
];
