import type { KafkaCluster } from './cluster.ts';
import { initProducerId, type ProducerId } from './requests.ts';

/** Ids under which batches are sent; a broker knows a batch that it has already by id and number. */
export interface ProducerIds {
  /** The one in use, but never `spoiled`: then a new one. Rejects while Kafka is away. */
  current(spoiled: ProducerId | undefined): Promise<ProducerId>;
}

export function createProducerIds(cluster: Pick<KafkaCluster, 'askAny'>): ProducerIds {
  let id: ProducerId | undefined;
  let asking: Promise<ProducerId> | undefined;
  const ask = async (): Promise<ProducerId> => {
    id = await cluster.askAny(initProducerId);
    return id;
  };
  return {
    current: async (spoiled) => {
      if (id !== undefined && id.producerId !== spoiled?.producerId) return id;
      asking ??= ask().finally(() => (asking = undefined));
      return await asking;
    },
  };
}
