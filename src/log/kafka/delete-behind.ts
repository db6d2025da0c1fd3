import { LogUnavailableError, lanes, type Lane } from '../eventlog.ts';
import type { KafkaCluster } from './cluster.ts';
import { deleteRecords } from './requests.ts';

export interface DeletingDeps {
  readonly cluster: KafkaCluster;
  readonly everyMs: number;
  readonly failed: (error: unknown) => void;
}

/** Lets Kafka forget what is stored for good, every now and then: its space comes back file by file in any case. */
export interface RecordDeleting {
  deleteThrough(lane: Lane, slot: number, seq: number): void;
  /** Without deleting what is left: the next holder of the slot does that. */
  stop(): Promise<void>;
}

interface Place {
  readonly lane: Lane;
  readonly slot: number;
  /** Offset before which everything may go: that of the first record that is not stored. */
  readonly offset: number;
}

const none = 0;
const deleteMs = 8000;

export function startDeleting({ cluster, everyMs, failed }: DeletingDeps): RecordDeleting {
  const connections = cluster.connections('delete');
  const wanted = new Map<string, Place>();
  const deleted = new Map<string, number>();
  let working: Promise<void> = Promise.resolve();

  const deleteAt = async (places: readonly Place[]): Promise<void> => {
    const byLeader = Map.groupBy(places, ({ lane, slot }) => cluster.leaderOf(lane, slot));
    for (const [leader, own] of byLeader) {
      if (leader === undefined)
        throw new LogUnavailableError('a partition of the event log has no leader at the moment');
      const topics = lanes.map((lane) => ({
        name: cluster.topics[lane].name,
        partitions: own
          .filter((place) => place.lane === lane)
          .map(({ slot, offset }) => ({ partitionIndex: slot, offset: BigInt(offset) })),
      }));
      const asked = topics.filter(({ partitions }) => partitions.length > 0);
      const answer = await deleteRecords(await connections.to(leader), asked, deleteMs);
      const refused = answer.topics.flatMap(({ partitions }) =>
        partitions.filter(({ errorCode }) => errorCode !== none),
      );
      const [first] = refused;
      if (first !== undefined) {
        throw new LogUnavailableError(
          `Kafka does not delete what is stored of partition ${first.partitionIndex} (its error ${first.errorCode})`,
        );
      }
      for (const { lane, slot, offset } of own) deleted.set(`${lane}/${slot}`, offset);
    }
  };

  const work = async (): Promise<void> => {
    const places = [...wanted.values()].filter(
      ({ lane, slot, offset }) => offset > (deleted.get(`${lane}/${slot}`) ?? 0),
    );
    wanted.clear();
    try {
      await deleteAt(places);
    } catch (error) {
      failed(error);
      for (const place of places) keep(place);
      await cluster.refresh().catch(failed);
    }
  };

  const keep = (place: Place): void => {
    const name = `${place.lane}/${place.slot}`;
    if (place.offset > (wanted.get(name)?.offset ?? 0)) wanted.set(name, place);
  };

  let isWorking = false;
  const timer = setInterval(() => {
    if (isWorking || wanted.size === 0) return;
    isWorking = true;
    working = work().finally(() => (isWorking = false));
  }, everyMs).unref();

  return {
    deleteThrough: (lane, slot, seq) => keep({ lane, slot, offset: seq }),
    stop: async () => {
      clearInterval(timer);
      await working;
    },
  };
}
