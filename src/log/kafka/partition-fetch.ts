import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../../base/retry.ts';
import type { KafkaBroker } from '../kafka-connection/access.ts';
import type { KafkaConnection } from '../kafka-connection/connections.ts';
import type { FetchAnswer } from '../kafka-connection/fetch-answer.ts';
import { LogUnavailableError, type Lane } from '../eventlog.ts';
import type { KafkaCluster } from './cluster.ts';
import { faultOf } from './kafka-fault.ts';
import type { ReadSource } from './read-sources.ts';
import { fetchRecords, listOffsets } from './requests.ts';

export interface PartitionPlace {
  readonly lane: Lane;
  readonly slot: number;
}

interface FetchFrom extends PartitionPlace {
  readonly offset: number;
  readonly bytesMax: number;
}

export interface PartitionRange {
  /** Offset of the first available record. */
  readonly first: number;
  /** Offset of the next record to be appended. */
  readonly end: number;
}

/** Sends requests to the current leader of a partition, or fetches from a replica in the zone of the process. All reject with LogUnavailableError, or the signal's reason. */
export interface PartitionFetch {
  /** Fetches the records at the offset without waiting for more. */
  fetch(from: FetchFrom, signal: AbortSignal): Promise<FetchAnswer | 'outOfRange'>;
  range(place: PartitionPlace, signal: AbortSignal): Promise<PartitionRange>;
  /** Returns the offset of the next record to be appended. */
  end(place: PartitionPlace, signal: AbortSignal): Promise<number>;
}

const outOfRange = 1;
const none = 0;
/** Retries for this long, which covers a change of leaders; after that the caller must report the failure. */
const retryMs = 5000;
const retryFirstMs = 50;
const retryMaxMs = 1000;

export function createPartitionFetch(cluster: KafkaCluster, failed: (error: unknown) => void): PartitionFetch {
  const ask = createAsk(cluster, failed);

  const offsetAt = async (place: PartitionPlace, at: 'earliest' | 'end', signal: AbortSignal): Promise<number> =>
    await ask(place, signal, async (connection) => {
      const { name } = cluster.topics[place.lane];
      const { topics } = await listOffsets(connection, at, [{ name, partitions: [place.slot] }]);
      const found = topics[0]?.partitions[0];
      if (found?.errorCode === none) return Number(found.offset);
      throw brokerError(place, found?.errorCode);
    });

  /** Returns undefined if another broker has to be asked. */
  const fetchOnce = async (
    { offset, bytesMax, ...place }: FetchFrom,
    signal: AbortSignal,
  ): Promise<FetchAnswer | 'outOfRange' | undefined> =>
    await ask(
      place,
      signal,
      async (connection, rack) => {
        const asked = { topicId: cluster.topics[place.lane].id, partition: place.slot, offset, bytesMax };
        const answer = await fetchRecords(connection, { rack, waitMs: 0, bytesMax, partitions: [asked] });
        const [found] = answer.partitions;
        // A replica may not have yet what the leader has.
        if (found?.errorCode === outOfRange) return cluster.sources.avoid(place) ? undefined : 'outOfRange';
        if (answer.errorCode !== none || found?.errorCode !== none)
          throw brokerError(place, answer.errorCode === none ? found?.errorCode : answer.errorCode);
        return cluster.sources.follow(place, found) ? undefined : found;
      },
      () => cluster.sources.of(place),
    );

  return {
    end: async (place, signal) => await offsetAt(place, 'end', signal),
    fetch: async (from, signal) => {
      for (;;) {
        const answer = await fetchOnce(from, signal);
        if (answer !== undefined) return answer;
      }
    },
    range: async (place, signal) => ({
      first: await offsetAt(place, 'earliest', signal),
      end: await offsetAt(place, 'end', signal),
    }),
  };
}

/** Repeats a request while its broker fails, with what is known of the cluster by then. */
function createAsk(cluster: KafkaCluster, failed: (error: unknown) => void) {
  const connections = cluster.connections('read');
  return async <T>(
    { lane, slot }: PartitionPlace,
    signal: AbortSignal,
    request: (connection: KafkaConnection, rack: string) => Promise<T>,
    source = (): ReadSource | undefined => leaderOnly(cluster.leaderOf(lane, slot)),
  ): Promise<T> => {
    const until = performance.now() + retryMs;
    for (let attempt = 0; ; attempt += 1) {
      signal.throwIfAborted();
      const from = source();
      try {
        if (from === undefined) throw new LogUnavailableError(`partition ${slot} of the event log has no leader`);
        return await request(await connections.to(from.broker), from.rack);
      } catch (error) {
        signal.throwIfAborted();
        failed(error);
        cluster.sources.avoid({ lane, slot });
        if (performance.now() > until) throw unavailable(error, from?.broker);
        await sleep(backoffMs(attempt, retryFirstMs, retryMaxMs), undefined, { signal });
        await cluster.refresh().catch(failed);
      }
    }
  };
}

function leaderOnly(broker: KafkaBroker | undefined): ReadSource | undefined {
  return broker && { broker, rack: '' };
}

function brokerError({ slot }: PartitionPlace, errorCode: number | undefined): LogUnavailableError {
  return new LogUnavailableError(`Kafka cannot read partition ${slot} at present (its error ${errorCode ?? 'none'})`);
}

function unavailable(error: unknown, leader: Parameters<typeof faultOf>[1] | undefined): LogUnavailableError {
  if (error instanceof LogUnavailableError || leader === undefined) {
    return error instanceof LogUnavailableError ? error : new LogUnavailableError('no leader', { cause: error });
  }
  return new LogUnavailableError(faultOf(error, leader).sentence, { cause: error });
}
