import type { BacklogPoller } from '../backlog-poller.ts';
import { lanes, type Lane } from '../eventlog.ts';
import type { SharedLogWriter, SharedWriterDeps, SharedWriterOptions } from '../shared-log.ts';
import { openSharedWriter, type LogBackend } from '../shared-writer.ts';
import { kafkaBacklog } from './backlog-source.ts';
import { createLink, openCluster, type KafkaCluster, type KafkaLogOptions } from './cluster.ts';
import { createPartitionFetch } from './partition-fetch.ts';
import { LaneProducer } from './producer.ts';
import { prepareTopics } from './topics.ts';

const appendTimeoutMsDefault = 15_000;

/**
 * Opens the accepting side of the log on Kafka. Creates missing topics. Rejects with LogMisconfiguredError if an operator has to change
 * something, with LogUnavailableError while Kafka is unavailable.
 */
export async function openKafkaLogWriter(
  options: KafkaLogOptions & SharedWriterOptions,
  deps: SharedWriterDeps,
): Promise<SharedLogWriter> {
  const link = createLink(options);
  try {
    await prepareTopics(link, options);
  } finally {
    await link.close();
  }
  const cluster = await openCluster(options);
  return await openSharedWriter(options, deps, (stored) => kafkaBackend(cluster, options, deps, stored));
}

function kafkaBackend(
  cluster: KafkaCluster,
  { bodyBytesMax, appendTimeoutMs: timeoutMs = appendTimeoutMsDefault }: KafkaLogOptions & SharedWriterOptions,
  deps: SharedWriterDeps,
  stored: BacklogPoller['appended'],
): LogBackend {
  const producerOf = (lane: Lane): LaneProducer =>
    new LaneProducer({
      cluster,
      lane,
      timeoutMs,
      stored: (slot, size) => stored(lane, slot, size),
      answered: (seconds) => deps.onAnswer?.(lane, seconds),
      failed: (error) => deps.onFailure?.('append', error),
    });
  const producers = { live: producerOf('live'), historical: producerOf('historical') };
  const fetch = createPartitionFetch(cluster, (error) => deps.onFailure?.('backlog', error));
  return {
    ...kafkaBacklog(cluster),
    name: 'Kafka',
    bodyBytesMax,
    append: (lane, record, slot) => producers[lane].append(slot, record),
    // Since seq = offset + 1, the last seq is the offset of the next record.
    end: (lane, slot, signal) => fetch.end({ lane, slot }, signal),
    refresh: () => cluster.refresh(),
    lostRecords: (lane, slot, end, cursor) =>
      `partition ${slot} of "${cluster.topics[lane].name}" ends at ${end}, but ${cursor} records of it are processed: Kafka has lost ` +
      'records, or these are other topics than before; it accepts nothing. Restore the topics, or set MILLRACE_KAFKA_TOPIC_PREFIX to ' +
      'the right ones',
    drained: async () => {
      await Promise.all(lanes.map((lane) => producers[lane].drained()));
    },
    close: () => cluster.close(),
  };
}
