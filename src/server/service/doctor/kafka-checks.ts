import { readCursors } from '../../../pipeline/cursors.ts';
import { lanes, type Lane } from '../../../log/eventlog.ts';
import { keptFrom } from '../../../pipeline/log-marks.ts';
import type { StoredPlace } from '../../../log/stored-places.ts';
import type { Settings } from '../../config/settings.ts';
import { createLog } from '../../telemetry/log.ts';
import { eventLogOf } from '../../config/event-log-kind.ts';
import {
  inspectKafkaLog,
  openMetadata,
  type KafkaInspection,
  type PartitionRange,
  type TopicFaultKind,
} from '../stores.ts';
import { CheckSkippedError, definePart, once, type Fault, type Outcome } from './check.ts';

interface KafkaSubject extends KafkaInspection {
  readonly settings: Settings;
  /** What the metadata store says about the log. */
  readonly progress: () => Promise<Progress>;
}

interface Progress {
  readonly cursors: Readonly<Record<Lane, ReadonlyMap<number, number>>>;
  /** Id of the log that a slot was last read from. */
  readonly logs: ReadonlyMap<number, string>;
  /** Places from which on records must be kept, because they were stored within the time of the setting. */
  readonly marks: readonly StoredPlace[];
}

export const kafkaPart = definePart<KafkaSubject>({
  title: 'Kafka',
  opened: 'kafka_reachable',
  applies: ({ settings }) => eventLogOf(settings) === 'kafka',
  open: async ({ settings }) => ({
    ...(await inspectKafkaLog(settings)),
    settings,
    progress: once(() => readProgress(settings)),
  }),
  checks: {
    kafka_reachable: {
      checks: 'a broker of `KAFKA_BROKERS` accepts the encryption and the user, and supports the requests of the log',
      severity: 'failed',
      advice:
        'Correct `KAFKA_BROKERS`, `MILLRACE_KAFKA_TLS…`, `MILLRACE_KAFKA_USER`, `MILLRACE_KAFKA_SASL` or what issues the tokens, as the message says; Kafka must be 3.6 or newer.',
      find: ({ brokers }) => `${brokers} ${brokers === 1 ? 'broker' : 'brokers'}`,
    },
    kafka_brokers: {
      checks: 'there are as many brokers as the topics have replicas',
      severity: 'failed',
      advice: 'Start the missing brokers, or lower `MILLRACE_KAFKA_REPLICATION` before the topics are created.',
      find: ({ brokers, settings: { kafkaReplication } }) =>
        brokers < kafkaReplication
          ? [`expected ${kafkaReplication} brokers (MILLRACE_KAFKA_REPLICATION), got ${brokers}`]
          : [],
    },
    kafka_topics: {
      checks: 'both topics of the log exist, or neither does yet',
      severity: 'failed',
      advice:
        'Check `MILLRACE_KAFKA_TOPIC_PREFIX`; restore the missing topic, or remove both to begin a new log. The first process creates topics that do not exist.',
      find: ({ topics, faults }) => {
        const missing = faultsOf(faults, 'missing');
        return missing.length === topics.length ? 'none yet; the first process creates them' : missing;
      },
    },
    kafka_rights: {
      checks: 'the user may read the settings of the topics',
      severity: 'failed',
      advice: 'Give `MILLRACE_KAFKA_USER` the rights Read, Write, Describe, DescribeConfigs and Delete on the topics.',
      find: ({ faults }) => faultsOf(faults, 'unreadable'),
    },
    kafka_partitions: topicCheck(
      'partitions',
      'the topics have at least `MILLRACE_SLOTS` partitions; more are not used',
      'Set `MILLRACE_SLOTS` to the number that the cluster was created with.',
    ),
    kafka_replication: topicCheck(
      'replication',
      'the topics have at least `MILLRACE_KAFKA_REPLICATION` replicas',
      'Add replicas with `kafka-reassign-partitions`.',
    ),
    kafka_min_insync: topicCheck(
      'min-insync',
      'the topics require at least `MILLRACE_KAFKA_MIN_INSYNC` replicas for an acknowledgement',
      'Set `min.insync.replicas` of the topics with `kafka-configs`.',
    ),
    kafka_retention: topicCheck(
      'retention',
      'the topics delete nothing by age or size',
      'Set `retention.ms` and `retention.bytes` of the topics to -1: the log deletes what is stored itself.',
    ),
    kafka_cleanup_policy: topicCheck(
      'cleanup',
      'the topics are not compacted',
      'Set `cleanup.policy=delete` of the topics: compaction deletes records.',
    ),
    kafka_message_bytes: topicCheck(
      'message-bytes',
      'the topics accept the largest body of a request',
      'Raise `max.message.bytes` of the topics, or lower `MILLRACE_CAPTURE_BODY_BYTES_MAX`.',
    ),
    kafka_unclean_election: topicCheck(
      'unclean-election',
      'a replica that lacks acknowledged records never becomes leader',
      'Set `unclean.leader.election.enable=false` of the topics.',
    ),
    kafka_leaders: {
      checks: 'every partition has a leader',
      severity: 'failed',
      advice:
        'Start the brokers that have the replicas; until then events of these slots are refused with 503 and not stored.',
      find: ({ topics }) => partitionFaults(topics, 'without a leader', ({ leaderId }) => leaderId < 0),
    },
    kafka_in_sync: {
      checks: 'every partition has enough replicas in sync for an acknowledgement, and a spare one',
      severity: 'warning',
      advice:
        'Start the brokers that are down, or check why they lag; with fewer than `min.insync.replicas` capture answers 503.',
      find: ({ topics, settings: { kafkaMinInsync } }): Fault[] => [
        ...partitionFaults(
          topics,
          'with fewer replicas in sync than required',
          ({ isrNodes }) => isrNodes.length < kafkaMinInsync,
        ).map((detail) => ({ detail, severity: 'failed' }) as const),
        ...partitionFaults(
          topics,
          'with a replica that is not in sync',
          ({ isrNodes, replicaNodes }) => isrNodes.length >= kafkaMinInsync && isrNodes.length < replicaNodes.length,
        ),
      ],
    },
    kafka_rack: {
      checks: 'brokers are in the zone `MILLRACE_KAFKA_RACK`, and permit reading from replicas in it',
      severity: 'warning',
      advice:
        'Set `MILLRACE_KAFKA_RACK` to a value of `broker.rack`, and `replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector` on the brokers; until then all is read from the leaders.',
      find: findRackFaults,
    },
    log_identity: {
      checks:
        'the topics are those whose records the database has stored: no other installation uses the database or the prefix',
      severity: 'failed',
      advice:
        'Give each installation its own `DATABASE_URL` and `MILLRACE_KAFKA_TOPIC_PREFIX`; if the topics were recreated, restore them or follow "A new log" in docs/guides/operations.md.',
      find: async ({ logId, progress }) => {
        const { logs } = await progress();
        const others = [...logs].filter(([slot, log]) => logId(slot) !== undefined && log !== logId(slot));
        return others.length === 0
          ? []
          : [`slots ${listed(others.map(([slot]) => slot))} of the database belong to other topics`];
      },
    },
    log_cursors: {
      checks: 'the topics have every record that is not stored yet, and end after those that are',
      severity: 'failed',
      advice:
        'Another installation uses the same topics (give it another `MILLRACE_KAFKA_TOPIC_PREFIX`), or Kafka has lost records: check its retention, and restore the topics.',
      find: findCursorFaults,
    },
    log_retention: {
      checks: 'the topics still have what was stored within `MILLRACE_EVENT_LOG_RETENTION_HOURS`',
      severity: 'warning',
      advice:
        'Set `MILLRACE_EVENT_LOG_RETENTION_HOURS` to the same number on every process with the role `pipeline`, and delete no records by other means.',
      find: findDeletedEarly,
    },
    kafka_group: {
      checks: 'the offsets of the consumer group `MILLRACE_KAFKA_GROUP` show what is stored',
      severity: 'warning',
      advice:
        'Give `MILLRACE_KAFKA_USER` the right Read on the group, choose a name that no other program uses, or set `MILLRACE_KAFKA_GROUP=none`; only the lag that tools for Kafka show depends on it.',
      find: findMissingOffsets,
    },
  },
});

function topicCheck(kind: TopicFaultKind, checks: string, advice: string) {
  const find = ({ faults }: KafkaSubject): Outcome => faultsOf(faults, kind);
  return { checks, severity: 'failed', advice, find } as const;
}

function faultsOf(faults: KafkaInspection['faults'], kind: TopicFaultKind): string[] {
  return faults.filter((fault) => fault.kind === kind).map(({ sentence }) => sentence);
}

type Partition = NonNullable<KafkaInspection['topics'][number]['topic']>['partitions'][number];

/** Returns a sentence for each topic with such partitions. */
function partitionFaults(
  topics: KafkaInspection['topics'],
  what: string,
  isFaulty: (partition: Partition) => boolean,
): string[] {
  return topics.flatMap(({ name, topic }) => {
    const faulty = (topic?.partitions ?? []).filter(isFaulty).map(({ partitionIndex }) => partitionIndex);
    return faulty.length === 0 ? [] : [`"${name}" has partitions ${what}: ${listed(faulty)}`];
  });
}

const hourMs = 3_600_000;
const listedMax = 8;

function listed(numbers: readonly number[]): string {
  const rest = numbers.length - listedMax;
  return (
    numbers
      .toSorted((a, b) => a - b)
      .slice(0, listedMax)
      .join(', ') + (rest > 0 ? ` and ${rest} more` : '')
  );
}

async function findCursorFaults({ ranges, progress, topics }: KafkaSubject): Promise<Outcome> {
  const [found, { cursors }] = await Promise.all([ranges(), progress()]);
  return lanes.flatMap((lane, at) => {
    const slotsWith = (isFaulty: (range: PartitionRange, done: number) => boolean): number[] =>
      [...found[lane]].filter(([slot, range]) => isFaulty(range, cursors[lane].get(slot) ?? 0)).map(([slot]) => slot);
    const name = topics[at]?.name ?? lane;
    return [
      slotFault(
        `"${name}" lacks records that are not stored`,
        slotsWith(({ first }, done) => first > done),
      ),
      slotFault(
        `"${name}" ends before the stored records`,
        slotsWith(({ end }, done) => done > end),
      ),
    ].filter((fault) => fault !== undefined);
  });
}

async function findDeletedEarly({ ranges, progress, settings, topics }: KafkaSubject): Promise<Outcome> {
  const hours = settings.eventLogRetentionHours;
  if (hours === 0) return 'stored records are deleted within seconds';
  const [found, { marks }] = await Promise.all([ranges(), progress()]);
  return lanes.flatMap((lane, at) => {
    const early = marks.filter((mark) => mark.lane === lane && (found[lane].get(mark.slot)?.first ?? 0) > mark.seq);
    const what = `"${topics[at]?.name}" lacks records that were stored less than ${hours} hours ago`;
    return slotFault(what, [...new Set(early.map(({ slot }) => slot))]) ?? [];
  });
}

async function findRackFaults({ racks, replicaSelector, settings }: KafkaSubject): Promise<Outcome> {
  const { kafkaRack: rack } = settings;
  if (rack === '') return 'MILLRACE_KAFKA_RACK is not set';
  if (!racks.includes(rack)) {
    const found = racks.length === 0 ? 'brokers without one' : racks.map((each) => `"${each}"`).join(', ');
    return [`expected a broker in the zone "${rack}", got ${found}`];
  }
  const selector = await replicaSelector();
  if (typeof selector === 'number') return `${rack}; replica.selector.class cannot be read (Kafka's error ${selector})`;
  return selector === '' ? ['the brokers have no replica.selector.class'] : rack;
}

async function findMissingOffsets({ group, offsets, progress, topics }: KafkaSubject): Promise<Outcome> {
  if (group === undefined) return 'none';
  const { cursors } = await progress();
  const isStored = lanes.some((lane) => [...cursors[lane].values()].some((seq) => seq > 0));
  if (!isStored) return `${group}: nothing is stored yet`;
  const committed = await offsets(group);
  const faults = lanes.flatMap((lane, at) => {
    const own = committed.get(topics[at]?.name ?? '');
    const missing = [...cursors[lane]].filter(([slot, seq]) => seq > 0 && own?.has(slot) !== true);
    const what = `the group "${group}" has no offset of "${topics[at]?.name}", whose records are stored`;
    return (
      slotFault(
        what,
        missing.map(([slot]) => slot),
      ) ?? []
    );
  });
  return faults.length === 0 ? group : faults;
}

function slotFault(what: string, slots: readonly number[]): string | undefined {
  return slots.length === 0 ? undefined : `${what}: partitions ${listed(slots)}`;
}

async function readProgress(settings: Settings): Promise<Progress> {
  if (settings.databaseUrl === '') throw new CheckSkippedError('DATABASE_URL is not set');
  const { db } = await openMetadata(settings, createLog('silent'), 1);
  try {
    const rows = await db.selectFrom('slots').select(['slot', 'log']).execute();
    const logs = new Map(rows.flatMap(({ slot, log }) => (log === null ? [] : [[slot, log] as const])));
    return {
      cursors: await readCursors(db),
      logs,
      marks: await keptFrom(db, settings.eventLogRetentionHours * hourMs),
    };
  } catch (error) {
    if (isMissingTable(error)) throw new CheckSkippedError('the database has no tables yet');
    throw error;
  } finally {
    await db.destroy();
  }
}

/** PostgreSQL's undefined_table. */
function isMissingTable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '42P01';
}
