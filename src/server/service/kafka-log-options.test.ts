import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { kafkaLogOptions, type KafkaSettings } from './kafka-log-options.ts';

const settings: KafkaSettings = {
  kafkaBrokers: 'kafka-1:9093, [::1]:9094,kafka-2',
  kafkaTopicPrefix: 'millrace',
  kafkaReplication: 3,
  kafkaMinInsync: 2,
  kafkaTls: 'auto',
  kafkaTlsCa: '',
  kafkaTlsCertificate: '',
  kafkaTlsKey: '',
  kafkaUser: '',
  kafkaPassword: '',
  kafkaSasl: 'SCRAM-SHA-512',
  kafkaOauthTokenUrl: '',
  kafkaOauthScope: '',
  kafkaOauthExtensions: '',
  kafkaAwsRegion: '',
  kafkaRack: '',
  outboundCa: '',
  kafkaGroup: '',
  slots: 64,
  captureBodyBytesMax: 20_971_520,
};

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-kafka-options-'));
});
afterAll(() => rm(dir, { recursive: true }));

it('brokers by name or address, with or without a port; no authentication or encryption by default', async () => {
  expect(await kafkaLogOptions(settings)).toEqual({
    brokers: [
      { host: 'kafka-1', port: 9093 },
      { host: '::1', port: 9094 },
      { host: 'kafka-2', port: 9092 },
    ],
    access: { tls: undefined, sasl: undefined },
    topicPrefix: 'millrace',
    slots: 64,
    replication: 3,
    minInsync: 2,
    bodyBytesMax: 20_971_520,
    rack: '',
    group: 'millrace',
  });
});

it.each([
  [{ kafkaTopicPrefix: 'eu' }, 'eu'],
  [{ kafkaTopicPrefix: 'eu', kafkaGroup: 'analytics' }, 'analytics'],
  [{ kafkaGroup: 'none' }, undefined],
])('the consumer group of %o is %s', async (more, group) => {
  expect((await kafkaLogOptions({ ...settings, ...more })).group).toBe(group);
});

it('with a user the connection is encrypted and checked, by an authority from a file', async () => {
  const ca = join(dir, 'ca.pem');
  await writeFile(ca, 'PEM');
  const { access } = await kafkaLogOptions({ ...settings, kafkaUser: 'u', kafkaPassword: 'p', kafkaTlsCa: ca });
  expect(access).toEqual({
    tls: { rejectUnauthorized: true, ca: 'PEM' },
    sasl: { mechanism: 'SCRAM-SHA-512', username: 'u', password: 'p' },
  });
});

const oauth: Partial<KafkaSettings> = {
  kafkaSasl: 'OAUTHBEARER',
  kafkaUser: 'id',
  kafkaPassword: 'hunter2',
  kafkaOauthTokenUrl: 'https://idp.example.com/token',
};
const msk: Partial<KafkaSettings> = {
  kafkaSasl: 'AWS_MSK_IAM',
  kafkaBrokers: 'b-1.demo.abc123.c2.kafka.eu-central-1.amazonaws.com:9098',
};

it.each<[Partial<KafkaSettings>, Record<string, string>?]>([
  [msk],
  [{ ...msk, kafkaBrokers: 'boot-abc.c1.kafka-serverless.us-east-1.amazonaws.com:9098' }],
  [{ ...msk, kafkaBrokers: 'kafka.internal:9098', kafkaAwsRegion: 'ap-south-1' }],
  [oauth],
  [
    { ...oauth, kafkaOauthExtensions: 'logicalCluster=lkc-1, identityPoolId=pool-1' },
    { logicalCluster: 'lkc-1', identityPoolId: 'pool-1' },
  ],
])('tokens are used, with encryption, for %o', async (more, oauthBearerExtensions = {}) => {
  const { access } = await kafkaLogOptions({ ...settings, ...more });
  expect(access).toMatchObject({ tls: { rejectUnauthorized: true }, sasl: { mechanism: 'OAUTHBEARER' } });
  expect(access.sasl?.oauthBearerExtensions ?? {}).toEqual(oauthBearerExtensions);
  expect(JSON.stringify(access)).not.toContain('hunter2');
});

it.each<[Partial<KafkaSettings>, RegExp]>([
  [{ ...oauth, kafkaOauthTokenUrl: '' }, /expected MILLRACE_KAFKA_OAUTH_TOKEN_URL to be the http\(s\) .*, got none/],
  [
    { ...oauth, kafkaOauthTokenUrl: 'https://me:hunter2@idp.example.com' },
    /without user and password, .* got something else(?!.*hunter2)/,
  ],
  [{ ...oauth, kafkaUser: '' }, /client id and secret\) .*, got no MILLRACE_KAFKA_USER/],
  [{ ...oauth, kafkaOauthExtensions: 'auth=x' }, /expected MILLRACE_KAFKA_OAUTH_EXTENSIONS to be comma-separated/],
  [{ ...oauth, kafkaSasl: 'PLAIN' }, /MILLRACE_KAFKA_SASL=OAUTHBEARER with MILLRACE_KAFKA_OAUTH_TOKEN_URL, got: PLAIN/],
  [{ ...msk, kafkaUser: 'me' }, /expected no MILLRACE_KAFKA_USER with MILLRACE_KAFKA_SASL=AWS_MSK_IAM/],
  [{ ...msk, kafkaBrokers: 'kafka:9098' }, /expected MILLRACE_KAFKA_AWS_REGION .*, got none, and no name of MSK/],
  [{ ...msk, kafkaAwsRegion: 'eu west/1' }, /expected MILLRACE_KAFKA_AWS_REGION .*, got eu west\/1/],
  [{ kafkaBrokers: 'user:secret@kafka:9092' }, /^expected KAFKA_BROKERS to be comma-separated host:port(?!.*secret)/],
  [{ kafkaTopicPrefix: 'mill race' }, /^expected MILLRACE_KAFKA_TOPIC_PREFIX/],
  [{ kafkaReplication: 1 }, /MILLRACE_KAFKA_MIN_INSYNC to be at most MILLRACE_KAFKA_REPLICATION, got: 2 of 1/],
  [{ kafkaTlsKey: '/key.pem' }, /MILLRACE_KAFKA_TLS_CERTIFICATE and MILLRACE_KAFKA_TLS_KEY, got one of them/],
  [{ kafkaTlsCa: '/nowhere/ca.pem' }, /expected MILLRACE_KAFKA_TLS_CA to be a file that can be read/],
])('%o is refused with the setting to change', async (more, sentence) => {
  await expect(kafkaLogOptions({ ...settings, ...more })).rejects.toThrow(sentence);
});
