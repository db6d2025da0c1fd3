import { createHash } from 'node:crypto';
import type { KafkaAccess, KafkaBroker } from '../kafka-connection/access.ts';
import {
  createKafkaConnections,
  type KafkaConnection,
  type KafkaConnections,
} from '../kafka-connection/connections.ts';
import { lanes, LogUnavailableError, type Lane } from '../eventlog.ts';
import { LogMisconfiguredError, type PerLane } from '../shared-log.ts';
import { faultOf } from './kafka-fault.ts';
import { createReadSources, type ReadSources } from './read-sources.ts';
import { readMetadata, type ClusterMetadata } from './requests.ts';

export interface KafkaLogOptions {
  /** At least one; the others are discovered through them. */
  readonly brokers: readonly KafkaBroker[];
  readonly access: KafkaAccess;
  /** Prefix of the names of the two topics. */
  readonly topicPrefix: string;
  /** Partitions of each topic. */
  readonly slots: number;
  readonly replication: number;
  readonly minInsync: number;
  /** Largest body of a record. */
  readonly bodyBytesMax: number;
  /** Zone of this process: replicas in it are read instead of leaders. Default: none. */
  readonly rack?: string | undefined;
  /** Consumer group whose offsets show what is stored. Default: none. */
  readonly group?: string | undefined;
}

export interface KafkaTopic {
  readonly name: string;
  /** UUID assigned by the cluster. */
  readonly id: string;
}

/** The last known state of the cluster: the leader of each partition. */
export interface KafkaCluster {
  readonly options: KafkaLogOptions;
  readonly topics: PerLane<KafkaTopic>;
  /** Returns undefined if there is no leader at present. */
  leaderOf(lane: Lane, slot: number): KafkaBroker | undefined;
  /** The brokers to read records from. */
  readonly sources: ReadSources;
  /** Refreshes the state; concurrent calls share one request. Rejects with LogUnavailableError. */
  refresh(): Promise<void>;
  /** Opens a separate set of connections: a broker processes one request of a connection at a time. */
  connections(purpose: string, requestTimeoutMs?: number): KafkaConnections;
  /** Sends a request to any broker. Rejects with LogUnavailableError when none answers. */
  askAny<T>(request: (connection: KafkaConnection) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export const topicName = (prefix: string, lane: Lane): string => `${prefix}.${lane}`;

const clientId = 'millrace';
const requestTimeoutMsDefault = 10_000;

/** Returns an id of a slot that differs for recreated topics of the same names. */
export function readerId({ live, historical }: PerLane<KafkaTopic>, slot: number): string {
  return `${createHash('sha256').update(`${live.id}/${historical.id}`).digest('hex').slice(0, 28)}-${slot}`;
}

/** Connects to existing topics (created by topics.ts). Rejects with LogMisconfiguredError or LogUnavailableError. */
export async function openCluster(options: KafkaLogOptions): Promise<KafkaCluster> {
  const link = createLink(options);
  try {
    const first = await lookAt(link, options);
    return createCluster(link, options, first);
  } catch (error) {
    await link.close();
    throw error;
  }
}

/** Access to the brokers before the topics are known. */
export type Link = Pick<KafkaCluster, 'connections' | 'askAny' | 'close'> & {
  /** Adds brokers that are tried before those of the settings. */
  known(brokers: readonly KafkaBroker[]): void;
};

export function createLink({ brokers, access }: Pick<KafkaLogOptions, 'brokers' | 'access'>): Link {
  const closing = new AbortController();
  const sets: KafkaConnections[] = [];
  const connections = (purpose: string, requestTimeoutMs = requestTimeoutMsDefault): KafkaConnections => {
    const resolve = async (host: string): Promise<string> => host;
    const deps = { clientId: `${clientId}-${purpose}`, access, resolve, signal: closing.signal, requestTimeoutMs };
    const set = createKafkaConnections({ ...deps, connectTimeoutMs: 5000 });
    sets.push(set);
    return set;
  };
  const control = connections('control');
  let candidates = brokers;
  return {
    connections,
    known: (found) => {
      const merged = new Map([...found, ...brokers].map((broker) => [`${broker.host}:${broker.port}`, broker]));
      candidates = [...merged.values()];
    },
    askAny: async (request) => {
      let trouble: unknown;
      for (const broker of candidates) {
        try {
          return await request(await control.to(broker));
        } catch (error) {
          trouble = error;
          const fault = faultOf(error, broker);
          if (fault.isFinal) throw new LogMisconfiguredError(fault.sentence, { cause: error });
        }
      }
      const [first] = candidates;
      throw new LogUnavailableError(
        first === undefined ? 'no Kafka broker is known' : faultOf(trouble, first).sentence,
        {
          cause: trouble,
        },
      );
    },
    close: async () => {
      closing.abort(new LogUnavailableError('the event log is closed'));
      await Promise.all(sets.map((set) => set.close()));
    },
  };
}

interface Seen {
  readonly brokers: ReadonlyMap<number, KafkaBroker>;
  readonly topics: PerLane<KafkaTopic>;
  readonly leaders: PerLane<ReadonlyMap<number, KafkaBroker>>;
}

async function lookAt(link: Link, { topicPrefix }: KafkaLogOptions): Promise<Seen> {
  const names = lanes.map((lane) => topicName(topicPrefix, lane));
  const metadata = await link.askAny((connection) => readMetadata(connection, names));
  const brokers = new Map(metadata.brokers.map(({ nodeId, host, port }) => [nodeId, { host, port }]));
  link.known([...brokers.values()]);
  const of = (lane: Lane) => topicOf(metadata, topicName(topicPrefix, lane));
  const leadersOf = (lane: Lane) =>
    new Map(
      of(lane).partitions.flatMap(({ partitionIndex, leaderId }) => {
        const leader = brokers.get(leaderId);
        return leader === undefined ? [] : [[partitionIndex, leader] as const];
      }),
    );
  const topic = (lane: Lane): KafkaTopic => ({ name: topicName(topicPrefix, lane), id: of(lane).topicId });
  return {
    brokers,
    topics: { live: topic('live'), historical: topic('historical') },
    leaders: { live: leadersOf('live'), historical: leadersOf('historical') },
  };
}

function topicOf({ topics }: ClusterMetadata, name: string): ClusterMetadata['topics'][number] {
  const found = topics.find((topic) => topic.name === name);
  if (found !== undefined && found.partitions.length > 0) return found;
  throw new LogUnavailableError(`Kafka has no topic "${name}": it is created when a process with the log starts`);
}

function createCluster(link: Link, options: KafkaLogOptions, first: Seen): KafkaCluster {
  const { topics } = first;
  let { leaders, brokers } = first;
  let looking: Promise<void> | undefined;
  const look = async (): Promise<void> => {
    const seen = await lookAt(link, options);
    const other = lanes.find((lane) => seen.topics[lane].id !== topics[lane].id);
    if (other !== undefined) {
      const { name } = topics[other];
      throw new LogUnavailableError(`the topic "${name}" was deleted and recreated while it was in use: restart`);
    }
    ({ leaders, brokers } = seen);
  };
  const leaderOf: KafkaCluster['leaderOf'] = (lane, slot) => leaders[lane].get(slot);
  return {
    options,
    topics,
    leaderOf,
    sources: createReadSources(options.rack ?? '', { leaderOf, broker: (id) => brokers.get(id) }),
    connections: link.connections,
    askAny: link.askAny,
    close: link.close,
    refresh: () => {
      looking ??= look().finally(() => (looking = undefined));
      return looking;
    },
  };
}
