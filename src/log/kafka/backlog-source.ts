import type { BacklogSource, RecordMean } from '../backlog-poller.ts';
import { lanes, type Lane } from '../eventlog.ts';
import type { KafkaConnections } from '../kafka-connection/connections.ts';
import type { PerLane } from '../shared-log.ts';
import { decodeBatches } from './batches.ts';
import type { KafkaCluster } from './cluster.ts';
import { fetchRecords, listOffsets } from './requests.ts';

const sampleBytes = 1024 * 1024;

/** Reads the ends of the partitions, and samples of records. */
export function kafkaBacklog(cluster: KafkaCluster): BacklogSource {
  const connections = cluster.connections('backlog');
  return {
    ends: () => endsOf(cluster, connections),
    sample: (lane, slot, from) => sample(cluster, connections, lane, { slot, from }),
  };
}

/** Reads ends by lane and slot. A slot whose leader does not know its end is omitted. */
async function endsOf(cluster: KafkaCluster, connections: KafkaConnections): Promise<PerLane<Map<number, number>>> {
  const ends: PerLane<Map<number, number>> = { live: new Map(), historical: new Map() };
  const laneOf = new Map(lanes.map((lane) => [cluster.topics[lane].name, lane]));
  const every = Array.from({ length: cluster.options.slots }, (_, slot) => slot);
  const partitions = lanes.flatMap((lane) =>
    every.map((slot) => ({ lane, slot, leader: cluster.leaderOf(lane, slot) })),
  );
  let isStale = false;
  for (const [leader, own] of Map.groupBy(partitions, (each) => each.leader)) {
    if (leader === undefined) {
      isStale = true;
      continue;
    }
    const topics = [...Map.groupBy(own, ({ lane }) => lane)].map(([lane, of]) => ({
      name: cluster.topics[lane].name,
      partitions: of.map(({ slot }) => slot),
    }));
    const answer = await listOffsets(await connections.to(leader), 'end', topics);
    for (const { name, partitions: found } of answer.topics) {
      const lane = laneOf.get(name);
      for (const { partitionIndex, errorCode, offset } of lane === undefined ? [] : found) {
        if (errorCode === 0 && lane !== undefined) ends[lane].set(partitionIndex, Number(offset));
        else isStale = true;
      }
    }
  }
  if (isStale) await cluster.refresh();
  return ends;
}

/** Returns the average events and bytes of the first waiting records of the slot; undefined if none arrived. */
async function sample(
  cluster: KafkaCluster,
  connections: KafkaConnections,
  lane: Lane,
  { slot, from }: { readonly slot: number; readonly from: number },
): Promise<RecordMean | undefined> {
  const leader = cluster.leaderOf(lane, slot);
  if (leader === undefined) return undefined;
  const asked = { topicId: cluster.topics[lane].id, partition: slot, offset: from, bytesMax: sampleBytes };
  const connection = await connections.to(leader);
  const answer = await fetchRecords(connection, { rack: '', waitMs: 0, bytesMax: sampleBytes, partitions: [asked] });
  const { records } = await decodeBatches(answer.partitions[0]?.records ?? Buffer.alloc(0), from);
  if (records.length === 0) return undefined;
  let events = 0;
  let bytes = 0;
  for (const record of records) {
    events += record.damaged === undefined ? record.header.events : 1;
    bytes += record.damaged === undefined ? record.body.byteLength : record.bytes.byteLength;
  }
  return { events: events / records.length, bytes: bytes / records.length };
}
