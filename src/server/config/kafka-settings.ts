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
    help: 'SASL user for the brokers, or client id for OAUTHBEARER. Empty for no authentication, and for AWS_MSK_IAM.',
  },
  kafkaPassword: {
    env: 'MILLRACE_KAFKA_PASSWORD',
    type: 'string',
    default: '',
    secret: true,
    help: 'Password of MILLRACE_KAFKA_USER, or client secret for OAUTHBEARER.',
  },
  kafkaSasl: {
    env: 'MILLRACE_KAFKA_SASL',
    type: 'choice',
    default: 'SCRAM-SHA-512',
    choices: ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER', 'AWS_MSK_IAM'],
    help:
      'SASL mechanism of MILLRACE_KAFKA_USER. `OAUTHBEARER`: tokens of MILLRACE_KAFKA_OAUTH_TOKEN_URL. `AWS_MSK_IAM`: tokens signed with ' +
      'the AWS credentials of the process (environment, web identity, container or instance role).',
  },
  kafkaOauthTokenUrl: {
    env: 'MILLRACE_KAFKA_OAUTH_TOKEN_URL',
    type: 'string',
    default: '',
    help: 'Token endpoint of the OAuth provider, which issues tokens for MILLRACE_KAFKA_USER and MILLRACE_KAFKA_PASSWORD (client credentials).',
  },
  kafkaOauthScope: {
    env: 'MILLRACE_KAFKA_OAUTH_SCOPE',
    type: 'string',
    default: '',
    help: 'Scopes to request from MILLRACE_KAFKA_OAUTH_TOKEN_URL, with spaces between. Empty for those of the client.',
  },
  kafkaOauthExtensions: {
    env: 'MILLRACE_KAFKA_OAUTH_EXTENSIONS',
    type: 'string',
    default: '',
    help: 'SASL extensions to send with a token: name=value, comma-separated, such as `logicalCluster=lkc-1,identityPoolId=pool-1`.',
  },
  kafkaAwsRegion: {
    env: 'MILLRACE_KAFKA_AWS_REGION',
    type: 'string',
    default: '',
    help: 'Region of the MSK cluster, for AWS_MSK_IAM. Empty for the one in the names of KAFKA_BROKERS.',
  },
  kafkaRack: {
    env: 'MILLRACE_KAFKA_RACK',
    type: 'string',
    default: '',
    help:
      'Zone of this process, as in `broker.rack`: the pipeline reads from a replica in it, if the brokers permit it ' +
      '(`replica.selector.class`). Empty for the leader of each partition.',
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
