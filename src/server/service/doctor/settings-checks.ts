import { constants, accessSync } from 'node:fs';
import { siteUrlOf } from '../../http/request-origin.ts';
import { readOidcSettings } from '../../sign-in/oidc-settings.ts';
import type { Settings } from '../../config/settings.ts';
import { kafkaLogOptions } from '../kafka-log-options.ts';
import { eventLogOf } from '../../config/event-log-kind.ts';
import { burstSeconds } from '../../../wire/capture/token-bucket.ts';
import { rolesProblem, storesProblem } from '../roles.ts';
import { certificateExpiry, certificateFaults, keyFaults } from './certificate-files.ts';
import { CheckSkippedError, definePart, nothingOpen, type Outcome } from './check.ts';

interface SettingsSubject extends AsyncDisposable {
  readonly settings: Settings;
}

export const settingsPart = definePart<SettingsSubject>({
  title: 'Settings',
  open: async ({ settings }) => ({ settings, ...nothingOpen }),
  checks: {
    settings_stores: {
      checks: 'the stores suit the roles: those that several processes share',
      severity: 'failed',
      advice:
        'Set the missing stores, or remove `MILLRACE_ROLES` and `KAFKA_BROKERS` to run everything in one process.',
      find: ({ settings }) => [rolesProblem(settings), storesProblem(settings)].filter((each) => each !== undefined),
    },
    settings_kafka: {
      checks: 'the settings of Kafka agree with each other, and their files can be read',
      severity: 'failed',
      advice: 'Correct the setting that the message names.',
      find: async ({ settings }) => {
        if (eventLogOf(settings) !== 'kafka') throw new CheckSkippedError('KAFKA_BROKERS is not set');
        await kafkaLogOptions(settings);
        return [];
      },
    },
    settings_kafka_copies: {
      checks: 'an acknowledged event survives the loss of a broker, and capture continues while one is down',
      severity: 'warning',
      advice: 'Set `MILLRACE_KAFKA_REPLICATION=3` and `MILLRACE_KAFKA_MIN_INSYNC=2`, with three brokers or more.',
      find: ({ settings }) =>
        eventLogOf(settings) === 'kafka' ? findFewCopies(settings) : skip('KAFKA_BROKERS is not set'),
    },
    settings_kafka_password: {
      checks: 'the password or token for Kafka is sent encrypted, and so is the secret that it is issued for',
      severity: 'warning',
      advice:
        'Set `MILLRACE_KAFKA_TLS=verify` and use the TLS port of the brokers, and an https address in `MILLRACE_KAFKA_OAUTH_TOKEN_URL`.',
      find: findPlainSecrets,
    },
    settings_certificates: {
      checks: 'files of certificates exist and contain certificates (PEM)',
      severity: 'failed',
      advice: 'Correct the path, or the file that it names.',
      find: ({ settings }) => certificateFaults(settings),
    },
    settings_certificate_expiry: {
      checks: 'no certificate has expired, or expires within 14 days',
      severity: 'warning',
      advice: 'Renew the certificate, and restart the processes that read it at their start.',
      find: ({ settings }) => certificateExpiry(settings, Date.now()),
    },
    settings_certificate_key: {
      checks: '`MILLRACE_KAFKA_TLS_KEY` is the private key of `MILLRACE_KAFKA_TLS_CERTIFICATE`',
      severity: 'failed',
      advice: 'Name the certificate and the key that belong together.',
      find: ({ settings }) => keyFaults(settings),
    },
    settings_geoip: {
      checks: 'the database of `MILLRACE_GEOIP_DATABASE` can be read',
      severity: 'failed',
      advice: 'Correct the path, or give the user of the service access to the file.',
      find: ({ settings: { geoipDatabase } }) => {
        if (geoipDatabase === '') return 'not set';
        accessSync(geoipDatabase, constants.R_OK);
        return geoipDatabase;
      },
    },
    settings_capture_limits: {
      checks:
        'the limits of capture agree: an event fits into a body, a body as received into one after decompression, and this into the backlog',
      severity: 'warning',
      advice: 'Raise the larger limit or lower the smaller one.',
      find: findLimits,
    },
    settings_project_limits: {
      checks:
        'the default limits of projects agree with those of capture: each can take effect, and admits the largest body',
      severity: 'warning',
      advice: 'Change the limit that the message names; see docs/guides/project-limits.md.',
      find: findProjectLimits,
    },
    settings_public_url: {
      checks: '`MILLRACE_SITE_URL` is an address without a path, and set if the service is not on loopback alone',
      severity: 'warning',
      advice:
        'Set `MILLRACE_SITE_URL` to the public address (https://millrace.example.com) on every process: links in messages and sign-in lead there.',
      find: findPublicUrl,
    },
    settings_trust_proxy: {
      checks: 'behind a proxy that ends TLS, the address of the client is taken from it',
      severity: 'warning',
      advice:
        'Set `MILLRACE_TRUST_PROXY=true`: otherwise all clients share the limits of one address, and events have the address of the proxy.',
      find: ({ settings: { siteUrl, trustProxy } }) =>
        siteUrl.startsWith('https:') && !trustProxy
          ? ['MILLRACE_SITE_URL is https, and MILLRACE_TRUST_PROXY is false']
          : [],
    },
    settings_sign_in: {
      checks: 'the settings of the OpenID Connect provider are complete',
      severity: 'failed',
      advice: 'Correct the setting that the message names; see docs/guides/sign-in.md.',
      find: ({ settings }) => {
        readOidcSettings(settings);
        return [];
      },
    },
    settings_test_only: {
      checks: 'no setting is on that is for tests',
      severity: 'failed',
      advice: 'Remove `MILLRACE_ALLOW_FAILPOINTS`, `MILLRACE_FAIL_AT` and `MILLRACE_SLOT_FENCE`.',
      find: ({ settings: { allowFailpoints, slotFence } }) => [
        ...(allowFailpoints ? ['MILLRACE_ALLOW_FAILPOINTS is true'] : []),
        ...(slotFence ? [] : ['MILLRACE_SLOT_FENCE is false: two processes may store the same events']),
      ],
    },
  },
});

function skip(reason: string): never {
  throw new CheckSkippedError(reason);
}

function findPlainSecrets({ settings }: SettingsSubject): Outcome {
  const { kafkaUser, kafkaSasl, kafkaTls, kafkaOauthTokenUrl } = settings;
  const login = kafkaSasl === 'AWS_MSK_IAM' ? 'MILLRACE_KAFKA_SASL is AWS_MSK_IAM' : 'MILLRACE_KAFKA_USER is set';
  if (kafkaUser === '' && kafkaSasl !== 'AWS_MSK_IAM') return 'no user is set';
  return [
    ...(kafkaTls === 'off' ? [`${login}, and MILLRACE_KAFKA_TLS is off`] : []),
    ...(kafkaTls === 'no verify' ? ['MILLRACE_KAFKA_TLS is "no verify": any server can pose as the broker'] : []),
    ...(kafkaOauthTokenUrl.startsWith('http:')
      ? ['MILLRACE_KAFKA_OAUTH_TOKEN_URL is http: it receives MILLRACE_KAFKA_PASSWORD without encryption']
      : []),
  ];
}

function findFewCopies({ kafkaReplication: replication, kafkaMinInsync: minInsync }: Settings): Outcome {
  if (replication === 1) return ['MILLRACE_KAFKA_REPLICATION is 1: there is one copy of an event until it is stored'];
  if (minInsync === 1) return ['MILLRACE_KAFKA_MIN_INSYNC is 1: an event is acknowledged when one broker has it'];
  if (minInsync < replication) return `${replication} copies, ${minInsync} before an acknowledgement`;
  return [`MILLRACE_KAFKA_MIN_INSYNC is ${minInsync} of ${replication}: capture answers 503 while one broker is down`];
}

function findLimits(subject: SettingsSubject): Outcome {
  const { captureEventBytesMax, captureBodyBytesMax, captureInflatedBytesMax, backlogBytesMax } = subject.settings;
  const ordered: readonly (readonly [string, number, string, number])[] = [
    [
      'MILLRACE_CAPTURE_EVENT_BYTES_MAX',
      captureEventBytesMax,
      'MILLRACE_CAPTURE_INFLATED_BYTES_MAX',
      captureInflatedBytesMax,
    ],
    [
      'MILLRACE_CAPTURE_BODY_BYTES_MAX',
      captureBodyBytesMax,
      'MILLRACE_CAPTURE_INFLATED_BYTES_MAX',
      captureInflatedBytesMax,
    ],
    ['MILLRACE_CAPTURE_BODY_BYTES_MAX', captureBodyBytesMax, 'MILLRACE_BACKLOG_BYTES_MAX', backlogBytesMax],
  ];
  return ordered
    .filter(([, smaller, , larger]) => smaller > larger)
    .map(([one, smaller, other, larger]) => `expected ${one} to be at most ${other}, got ${smaller} of ${larger}`);
}

function findProjectLimits({ settings }: SettingsSubject): Outcome {
  const { projectBytesPerSecond, projectBacklogBytes, backlogBytesMax, captureBodyBytesMax } = settings;
  const faults: string[] = [];
  if (projectBacklogBytes > backlogBytesMax) {
    faults.push(
      `expected MILLRACE_PROJECT_BACKLOG_BYTES to be at most MILLRACE_BACKLOG_BYTES_MAX, got ${projectBacklogBytes} of ${backlogBytesMax}: it has no effect`,
    );
  }
  const burst = projectBytesPerSecond * burstSeconds;
  if (projectBytesPerSecond > 0 && burst < captureBodyBytesMax) {
    faults.push(
      `expected ${burstSeconds} s of MILLRACE_PROJECT_BYTES_PER_SECOND to be at least MILLRACE_CAPTURE_BODY_BYTES_MAX, got ${burst} of ${captureBodyBytesMax}: a project waits longer after a large body`,
    );
  }
  return faults;
}

const loopback: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);

function findPublicUrl({ settings }: SettingsSubject): Outcome {
  const url = siteUrlOf(settings);
  if (url === '') {
    if (loopback.has(settings.host)) return `not set; the service listens on ${settings.host}`;
    return [`not set, and the service listens on ${settings.host}, which is not an address for links`];
  }
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol))
    return ['expected http:// or https:// and a host, got another form'];
  if (parsed.pathname !== '/') return [`expected an address without a path, got ${parsed.pathname}`];
  const isLocal = loopback.has(parsed.hostname.replace(/^\[|\]$/g, ''));
  if (isLocal && !loopback.has(settings.host)) return [`${parsed.hostname} leads every client to its own machine`];
  return parsed.origin;
}
