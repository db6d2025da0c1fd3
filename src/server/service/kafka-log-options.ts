import { readFile } from 'node:fs/promises';
import type { Settings } from '../config/settings.ts';
import { kafkaAccess, parseBroker, type KafkaBroker } from '../../log/kafka-connection/access.ts';
import { kafkaSasl, type KafkaSaslSettings } from './kafka-sasl.ts';
import type { KafkaLogOptions } from './stores.ts';

export type KafkaSettings = KafkaSaslSettings &
  Pick<
    Settings,
    | 'kafkaBrokers'
    | 'kafkaTopicPrefix'
    | 'kafkaReplication'
    | 'kafkaMinInsync'
    | 'kafkaTls'
    | 'kafkaTlsCa'
    | 'kafkaTlsCertificate'
    | 'kafkaTlsKey'
    | 'kafkaRack'
    | 'kafkaGroup'
    | 'slots'
    | 'captureBodyBytesMax'
  >;

const topicForm = /^[A-Za-z0-9._-]{1,200}$/;
/** Value of `MILLRACE_KAFKA_GROUP` that means no group. */
const noGroup = 'none';

/** Converts the settings and reads certificates. @throws an error naming the setting to change */
export async function kafkaLogOptions(settings: KafkaSettings): Promise<KafkaLogOptions> {
  const { kafkaTopicPrefix: topicPrefix, kafkaReplication: replication, kafkaMinInsync: minInsync } = settings;
  if (!topicForm.test(topicPrefix)) {
    throw new Error(`expected MILLRACE_KAFKA_TOPIC_PREFIX to be letters, digits, . _ -, got: ${topicPrefix}`);
  }
  if (minInsync > replication) {
    throw new Error(
      `expected MILLRACE_KAFKA_MIN_INSYNC to be at most MILLRACE_KAFKA_REPLICATION, got: ${minInsync} of ${replication}`,
    );
  }
  if ((settings.kafkaTlsCertificate === '') !== (settings.kafkaTlsKey === '')) {
    throw new Error('expected MILLRACE_KAFKA_TLS_CERTIFICATE and MILLRACE_KAFKA_TLS_KEY, got one of them');
  }
  const brokers = brokersOf(settings.kafkaBrokers);
  const access = kafkaAccess({
    tls: settings.kafkaTls,
    ca: await textOf('MILLRACE_KAFKA_TLS_CA', settings.kafkaTlsCa),
    certificate: await textOf('MILLRACE_KAFKA_TLS_CERTIFICATE', settings.kafkaTlsCertificate),
    key: await textOf('MILLRACE_KAFKA_TLS_KEY', settings.kafkaTlsKey),
    sasl: kafkaSasl(settings, brokers),
  });
  return {
    brokers,
    access,
    topicPrefix,
    slots: settings.slots,
    replication,
    minInsync,
    bodyBytesMax: settings.captureBodyBytesMax,
    rack: settings.kafkaRack,
    group: settings.kafkaGroup === noGroup ? undefined : settings.kafkaGroup || topicPrefix,
  };
}

function brokersOf(text: string): readonly KafkaBroker[] {
  const names = text.split(',').map((name) => name.trim());
  return names.filter(Boolean).map((name) => {
    const broker = parseBroker(name);
    // Not repeated, since it may contain a password.
    if (broker === undefined) {
      throw new Error('expected KAFKA_BROKERS to be comma-separated host:port, without user and password');
    }
    return broker;
  });
}

async function textOf(setting: string, path: string): Promise<string> {
  if (path === '') return '';
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new Error(`expected ${setting} to be a file that can be read, got: ${path}`, { cause });
  }
}
