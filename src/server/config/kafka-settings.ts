/** Settings of the event log on Kafka, except its address. Part of the table in settings.ts. */
export const kafkaSettings = {
  kafkaTopicPrefix: {
    env: 'MILLRACE_KAFKA_TOPIC_PREFIX',
    type: 'string',
    default: 'millrace',
    help: 'Prefix of the two topics of the event log: PREFIX.live and PREFIX.historical.',
  },
  kafkaReplication: {
    env: 'MILLRACE_KAFKA_REPLICATION',
    type: 'integer',
    default: 3,
    min: 1,
    max: 100,
    help: 'Replication factor of the topics. Existing topics with a lower one are refused.',
  },
  kafkaMinInsync: {
    env: 'MILLRACE_KAFKA_MIN_INSYNC',
    type: 'integer',
    default: 2,
    min: 1,
    max: 100,
    help: 'Brokers that must have stored a record before capture returns 200. Existing topics that require fewer are refused.',
  },
  kafkaTls: {
    env: 'MILLRACE_KAFKA_TLS',
    type: 'choice',
    default: 'auto',
    choices: ['auto', 'verify', 'no verify', 'off'],
    help: '`auto` is `verify` if a user, an authority or a certificate is set, otherwise `off`. `no verify` encrypts without checking the certificate.',
  },
  kafkaTlsCa: {
    env: 'MILLRACE_KAFKA_TLS_CA',
    type: 'string',
    default: '',
    help: 'File with the authority (PEM) that signed the certificates of the brokers. Empty for the default authorities.',
  },
  kafkaTlsCertificate: {
    env: 'MILLRACE_KAFKA_TLS_CERTIFICATE',
    type: 'string',
    default: '',
    help: 'File with the client certificate (PEM), if brokers require one. Requires MILLRACE_KAFKA_TLS_KEY.',
  },
  kafkaTlsKey: {
    env: 'MILLRACE_KAFKA_TLS_KEY',
    type: 'string',
    default: '',
    help: 'File with the private key (PEM) of MILLRACE_KAFKA_TLS_CERTIFICATE.',
  },
  kafkaUser: {
    env: 'MILLRACE_KAFKA_USER',
    type: 'string',
    default: '',
    help: 'SASL user for the brokers. Empty for no authentication.',
  },
  kafkaPassword: {
    env: 'MILLRACE_KAFKA_PASSWORD',
    type: 'string',
    default: '',
    secret: true,
    help: 'Password of MILLRACE_KAFKA_USER.',
  },
  kafkaSasl: {
    env: 'MILLRACE_KAFKA_SASL',
    type: 'choice',
    default: 'SCRAM-SHA-512',
    choices: ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'],
    help: 'SASL mechanism of MILLRACE_KAFKA_USER.',
  },
  kafkaGroup: {
    env: 'MILLRACE_KAFKA_GROUP',
    type: 'string',
    default: '',
    help:
      'Consumer group whose offsets show to tools for Kafka what is stored. They are committed every 5 seconds, for information only. ' +
      'Empty for the value of MILLRACE_KAFKA_TOPIC_PREFIX; `none` for no group.',
  },
} as const;
