import { LogUnavailableError } from '../eventlog.ts';
import type { KafkaBroker } from '../kafka-connection/access.ts';
import { LogMisconfiguredError, type SharedReaderDeps } from '../shared-log.ts';
import { handleStored, type StoredPlaces } from '../stored-places.ts';
import type { KafkaCluster } from './cluster.ts';
import { faultOf } from './kafka-fault.ts';
import { commitOffsets, findCoordinator } from './requests.ts';

/** Well within the time for which brokers keep offsets of a group without members (offsets.retention.minutes, 7 days). */
const repeatMs = 3_600_000;
const everyMsDefault = 5000;
const requestMs = 5000;
/** Failures in a row before an operator is notified: elections and restarts of brokers take less. */
const failuresMin = 3;

/**
 * Commits what is stored as the offsets of a consumer group, so that tools for Kafka show its lag. For information only: nothing reads
 * the offsets back, since the cursors in the metadata store decide what is processed; a failed commit delays nothing. The group has
 * no members, because slots are distributed by leases.
 */
export function publishOffsets(
  cluster: KafkaCluster,
  group: string,
  deps: SharedReaderDeps,
  everyMs = everyMsDefault,
): StoredPlaces {
  const connections = cluster.connections('offsets', requestMs);
  let coordinator: KafkaBroker | undefined;
  let failures = 0;
  const failed = (error: unknown): void => {
    deps.onFailure?.('offsets', error);
    failures += 1;
    if (failures !== failuresMin) return;
    const sentence =
      error instanceof LogUnavailableError || error instanceof LogMisconfiguredError || coordinator === undefined
        ? String(error instanceof Error ? error.message : error)
        : faultOf(error, coordinator).sentence;
    deps.onProblem?.(`offsets of the consumer group "${group}" cannot be committed, so its lag is wrong: ${sentence}`);
  };
  return handleStored({
    everyMs,
    repeatMs,
    handle: async (places) => {
      coordinator ??= await cluster.askAny((connection) => findCoordinator(connection, group));
      const topics = [...Map.groupBy(places, ({ lane }) => lane)].map(([lane, own]) => ({
        name: cluster.topics[lane].name,
        // The seq is the offset of the first record that is not stored.
        partitions: own.map(({ slot, seq }) => ({ partitionIndex: slot, committedOffset: BigInt(seq) })),
      }));
      await commitOffsets(await connections.to(coordinator), group, topics);
      failures = 0;
      return places;
    },
    failed: async (error) => {
      failed(error);
      // It may be another broker now.
      coordinator = undefined;
    },
  });
}
