import { passwordLogin, type KafkaAccess, type KafkaBroker } from '../../log/kafka-connection/access.ts';
import { bearerLogin } from '../../log/kafka-connection/bearer-login.ts';
import { createClientCredentialsTokens } from '../../log/kafka-login/client-credentials.ts';
import { createMskTokens, machineCredentials } from '../../log/kafka-login/msk-iam.ts';
import { parseAllowList } from '../../plugins/outbound/allow-list.ts';
import { readExtraCa } from '../../plugins/outbound/extra-ca.ts';
import { fetchLoadedLate } from '../../plugins/outbound/load-late.ts';
import type { Settings } from '../config/settings.ts';

export type KafkaSaslSettings = Pick<
  Settings,
  | 'kafkaUser'
  | 'kafkaPassword'
  | 'kafkaSasl'
  | 'kafkaOauthTokenUrl'
  | 'kafkaOauthScope'
  | 'kafkaOauthExtensions'
  | 'kafkaAwsRegion'
  | 'outboundCa'
>;

/** Less than the limit of a login. */
const requestTimeoutMs = 4_000;
const responseBytesMax = 1_048_576;
/** The operator chooses the provider, which usually is in the company's network. */
const everyAddress = parseAllowList('0.0.0.0/0,::/0');
/** Names of brokers of MSK, provisioned and serverless. */
const mskName = /\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$/i;

type Sasl = KafkaAccess['sasl'];

/** Returns the login of the settings; `undefined` for none. @throws an error naming the setting to change */
export function kafkaSasl(settings: KafkaSaslSettings, brokers: readonly KafkaBroker[]): Sasl {
  const { kafkaSasl: mechanism, kafkaOauthTokenUrl } = settings;
  if (mechanism === 'OAUTHBEARER') return oauthLogin(settings);
  if (kafkaOauthTokenUrl !== '') {
    throw new Error(`expected MILLRACE_KAFKA_SASL=OAUTHBEARER with MILLRACE_KAFKA_OAUTH_TOKEN_URL, got: ${mechanism}`);
  }
  if (mechanism === 'AWS_MSK_IAM') return mskLogin(settings, brokers);
  return passwordLogin(settings.kafkaUser, settings.kafkaPassword, mechanism);
}

function oauthLogin(settings: KafkaSaslSettings): Sasl {
  const { kafkaOauthTokenUrl: tokenUrl, kafkaUser: clientId, kafkaPassword: clientSecret } = settings;
  if (!isTokenUrl(tokenUrl)) {
    // Not repeated, since it may contain a password.
    throw new Error(
      `expected MILLRACE_KAFKA_OAUTH_TOKEN_URL to be the http(s) address of a token endpoint, without user and password, ` +
        `for MILLRACE_KAFKA_SASL=OAUTHBEARER, got ${tokenUrl === '' ? 'none' : 'something else'}`,
    );
  }
  if (clientId === '' || clientSecret === '') {
    const missing = clientId === '' ? 'MILLRACE_KAFKA_USER' : 'MILLRACE_KAFKA_PASSWORD';
    throw new Error(
      `expected MILLRACE_KAFKA_USER and MILLRACE_KAFKA_PASSWORD (client id and secret) for MILLRACE_KAFKA_SASL=OAUTHBEARER, got no ${missing}`,
    );
  }
  const extensions = extensionsOf(settings.kafkaOauthExtensions);
  const limits = { timeoutMs: requestTimeoutMs, bytesMax: responseBytesMax, redirectsMax: 0 };
  const fetch = fetchLoadedLate({ allow: everyAddress, ca: readExtraCa(settings.outboundCa), ...limits });
  const credentials = { tokenUrl, clientId, clientSecret, scope: settings.kafkaOauthScope };
  return bearerLogin({ token: createClientCredentialsTokens(credentials, { fetch, now: Date.now }), extensions });
}

function isTokenUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}

function extensionsOf(text: string): Readonly<Record<string, string>> {
  const parts = text.split(',').map((part) => part.trim());
  return Object.fromEntries(
    parts.filter(Boolean).map((part) => {
      // RFC 7628, 3.1; `auth` is the name of the token itself.
      const [, name = 'auth', value = ''] = /^([A-Za-z]+)=([\x21-\x7e \t]+)$/.exec(part) ?? [];
      if (name !== 'auth') return [name, value];
      throw new Error(
        'expected MILLRACE_KAFKA_OAUTH_EXTENSIONS to be comma-separated name=value with names of letters, such as logicalCluster=lkc-1',
      );
    }),
  );
}

function mskLogin({ kafkaUser, kafkaAwsRegion }: KafkaSaslSettings, brokers: readonly KafkaBroker[]): Sasl {
  if (kafkaUser !== '') {
    throw new Error(
      'expected no MILLRACE_KAFKA_USER with MILLRACE_KAFKA_SASL=AWS_MSK_IAM, which uses the AWS credentials of the process, got one',
    );
  }
  const region = kafkaAwsRegion || brokers.map(({ host }) => mskName.exec(host)?.[1]).find(Boolean);
  if (region === undefined || !/^[a-z0-9-]+$/.test(region)) {
    throw new Error(
      'expected MILLRACE_KAFKA_AWS_REGION to be the region of the cluster for MILLRACE_KAFKA_SASL=AWS_MSK_IAM, such as eu-central-1, got ' +
        (region ?? 'none, and no name of MSK in KAFKA_BROKERS'),
    );
  }
  return bearerLogin({ token: createMskTokens(region, { credentials: machineCredentials(region), now: Date.now }) });
}
