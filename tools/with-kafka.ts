/**
 * Runs a command with its own Apache Kafka broker: `node tools/with-kafka.ts [--optional] -- command …`.
 *
 * One broker (KRaft), on loopback only, with its data in a temp directory; gone afterwards. The command finds it through
 * - KAFKA_BROKERS: without encryption and user
 * - KAFKA_TLS_BROKERS with KAFKA_TLS_CA_FILE: TLS and SASL (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512), KAFKA_USER, KAFKA_PASSWORD
 * - KAFKA_TOKEN_BROKERS: SASL/OAUTHBEARER with unsecured tokens, without encryption
 *
 * The jars come from Maven Central by `mvn` and are kept in the user's cache directory. Exits with the command's code, or 2
 * when there is no Kafka; with --optional the command then runs without those variables.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  findKafkaJars,
  kafkaPassword,
  kafkaUser,
  startKafkaBroker,
  type KafkaJars,
} from '../test/support/kafka-broker.ts';
import { parseCommand, runCommand } from './with-server.ts';

const usage = 'usage: node tools/with-kafka.ts [--optional] -- command [argument …]';

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const command = parseCommand(args, ['--optional']);
  if (command === undefined) {
    console.error(usage);
    return 2;
  }
  const directory = await mkdtemp(join(tmpdir(), 'millrace-kafka-'));
  try {
    const jars = await findKafkaJars();
    if (typeof jars === 'string') {
      console.error(`no Kafka broker: ${jars}`);
      return command.options.has('--optional') ? await runCommand(command.program, command.args, {}) : 2;
    }
    return await withBroker(jars, directory, (env) => runCommand(command.program, command.args, env));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function withBroker(
  jars: KafkaJars,
  directory: string,
  work: (env: Readonly<Record<string, string>>) => Promise<number>,
): Promise<number> {
  const broker = await startKafkaBroker(jars, directory);
  try {
    return await work({
      KAFKA_BROKERS: broker.plain,
      KAFKA_TLS_BROKERS: broker.tls,
      KAFKA_MUTUAL_TLS_BROKERS: broker.mutual,
      KAFKA_TOKEN_BROKERS: broker.token,
      KAFKA_TLS_CA_FILE: broker.caFile,
      KAFKA_USER: kafkaUser,
      KAFKA_PASSWORD: kafkaPassword,
    });
  } finally {
    // Its data is thrown away, so that it need not end in order.
    await broker.kill();
  }
}
