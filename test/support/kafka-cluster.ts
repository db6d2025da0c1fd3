/** Several Apache Kafka brokers for tests: on loopback only, a directory each in one that is given. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../tools/with-server.ts';
import { startKafkaNode, type KafkaJars, type KafkaNode } from './kafka-broker.ts';

export interface KafkaClusterNode extends KafkaNode {
  readonly port: number;
}

interface Place {
  readonly id: number;
  readonly port: number;
  readonly controller: number;
}

/** Zone of a broker, in which clients may read what it replicates. */
export function rackOf(id: number): string {
  return `zone-${id}`;
}

/** Resolves when all of them are ready. `directory` must be empty; the caller removes it after killing them. */
export async function startKafkaCluster(
  jars: KafkaJars,
  directory: string,
  count: number,
): Promise<KafkaClusterNode[]> {
  const places: Place[] = [];
  for (let id = 1; id <= count; id += 1) places.push({ id, port: await freePort(), controller: await freePort() });
  const voters = places.map(({ id, controller }) => `${id}@127.0.0.1:${controller}`).join(',');
  const start = async ({ id, port, controller }: Place): Promise<KafkaClusterNode> => {
    const own = join(directory, String(id));
    await mkdir(own);
    const settings = {
      'node.id': String(id),
      'controller.quorum.voters': voters,
      listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controller}`,
      'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
      'broker.rack': rackOf(id),
      'replica.selector.class': 'org.apache.kafka.common.replica.RackAwareReplicaSelector',
    };
    const node = await startKafkaNode(jars, own, settings, []);
    return { ...node, port };
  };
  const started = await Promise.allSettled(places.map(start));
  const nodes = started.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  if (nodes.length === count) return nodes;
  await Promise.all(nodes.map((node) => node.kill()));
  const failed = started.find((each) => each.status === 'rejected');
  throw new Error(`expected ${count} Kafka brokers to start, got ${nodes.length}`, { cause: failed?.reason });
}
