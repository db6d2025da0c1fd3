import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { dayMs } from '../../../base/time.ts';
import { diagnose } from './doctor.fixture.ts';
import { settingsPart } from './settings-checks.ts';

const cluster = {
  KAFKA_BROKERS: 'kafka:9092',
  DATABASE_URL: 'postgres://db/m',
  CLICKHOUSE_URL: 'http://ch:8123/m',
  MILLRACE_IMPORT_STAGING: 's3://bucket/staging',
};
const oauth = {
  MILLRACE_KAFKA_SASL: 'OAUTHBEARER',
  MILLRACE_KAFKA_USER: 'id',
  MILLRACE_KAFKA_PASSWORD: 'secret',
  MILLRACE_KAFKA_OAUTH_TOKEN_URL: 'https://idp.internal/token',
};
const guard = 'MILLRACE_ALLOW_FAILPOINTS';

describe('checks of the settings', () => {
  let dir: string;
  let files: { certificate: string; key: string; otherKey: string; text: string };

  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'doctor-settings-'));
    const pair = (name: string): { certificate: string; key: string } => {
      const [certificate, key] = [join(dir, `${name}.pem`), join(dir, `${name} "ключ".pem`)];
      const kind = [
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-days',
        '30',
        '-subj',
        `/CN=${name}`,
      ];
      execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
      return { certificate, key };
    };
    const text = join(dir, 'text.pem');
    writeFileSync(text, 'not a certificate');
    files = { ...pair('millrace'), otherKey: pair('other').key, text };
  });
  afterEach(() => vi.useRealTimers());
  afterAll(() => rmSync(dir, { recursive: true }));

  const clients = (certificate: string, key: string) => ({
    ...cluster,
    MILLRACE_KAFKA_TLS_CERTIFICATE: certificate,
    MILLRACE_KAFKA_TLS_KEY: key,
  });

  it('find nothing in a right configuration, of one machine and of a cluster', async () => {
    expect((await diagnose({}, [settingsPart])).faults()).toEqual([]);
    const right = {
      ...clients(files.certificate, files.key),
      MILLRACE_KAFKA_TLS_CA: files.certificate,
      MILLRACE_HOST: '0.0.0.0',
      MILLRACE_SITE_URL: 'https://millrace.example.com',
      MILLRACE_TRUST_PROXY: 'true',
      MILLRACE_GEOIP_DATABASE: files.text,
    };
    expect((await diagnose(right, [settingsPart])).faults()).toEqual([]);
  });

  it.each<[string, Record<string, string>, string, RegExp, RegExp]>([
    ['settings_stores', { ...cluster, DATABASE_URL: '' }, 'failed', /got no DATABASE_URL/, /missing stores/],
    [
      'settings_stores',
      { MILLRACE_CLICKHOUSE_CLUSTER: 'main' },
      'failed',
      /CLICKHOUSE_URL .* cluster main/,
      /missing stores/,
    ],
    ['settings_kafka', { ...cluster, MILLRACE_KAFKA_MIN_INSYNC: '4' }, 'failed', /MIN_INSYNC to be at most/, /Correct/],
    ['settings_kafka', { ...cluster, MILLRACE_KAFKA_TOPIC_PREFIX: 'a b' }, 'failed', /TOPIC_PREFIX/, /Correct/],
    [
      'settings_kafka',
      { ...cluster, KAFKA_BROKERS: 'me:hunter2@kafka' },
      'failed',
      /without user and password/,
      /Correct/,
    ],
    [
      'settings_kafka_copies',
      { ...cluster, MILLRACE_KAFKA_REPLICATION: '1', MILLRACE_KAFKA_MIN_INSYNC: '1' },
      'warning',
      /one copy/,
      /REPLICATION=3/,
    ],
    [
      'settings_kafka_copies',
      { ...cluster, MILLRACE_KAFKA_MIN_INSYNC: '1' },
      'warning',
      /when one broker has it/,
      /MIN_INSYNC=2/,
    ],
    [
      'settings_kafka_copies',
      { ...cluster, MILLRACE_KAFKA_MIN_INSYNC: '3' },
      'warning',
      /3 of 3: capture answers 503/,
      /MIN_INSYNC=2/,
    ],
    [
      'settings_kafka_password',
      { ...cluster, MILLRACE_KAFKA_USER: 'me', MILLRACE_KAFKA_TLS: 'off' },
      'warning',
      /TLS is off/,
      /verify/,
    ],
    [
      'settings_kafka_password',
      {
        ...cluster,
        MILLRACE_KAFKA_SASL: 'AWS_MSK_IAM',
        MILLRACE_KAFKA_AWS_REGION: 'eu-west-1',
        MILLRACE_KAFKA_TLS: 'off',
      },
      'warning',
      /AWS_MSK_IAM, and MILLRACE_KAFKA_TLS is off/,
      /verify/,
    ],
    [
      'settings_kafka_password',
      { ...cluster, ...oauth, MILLRACE_KAFKA_OAUTH_TOKEN_URL: 'http://idp.internal/token' },
      'warning',
      /is http: it receives MILLRACE_KAFKA_PASSWORD without encryption/,
      /https/,
    ],
    [
      'settings_kafka',
      { ...cluster, MILLRACE_KAFKA_SASL: 'AWS_MSK_IAM' },
      'failed',
      /expected MILLRACE_KAFKA_AWS_REGION to be the region of the cluster .*, got none/,
      /Correct the setting/,
    ],
    [
      'settings_kafka',
      { ...cluster, ...oauth, MILLRACE_KAFKA_PASSWORD: '' },
      'failed',
      /client id and secret\) .*, got no MILLRACE_KAFKA_PASSWORD/,
      /Correct the setting/,
    ],
    [
      'settings_kafka_password',
      { ...cluster, MILLRACE_KAFKA_USER: 'me', MILLRACE_KAFKA_TLS: 'no verify' },
      'warning',
      /any server/,
      /verify/,
    ],
    [
      'settings_capture_limits',
      {
        MILLRACE_CAPTURE_INFLATED_BYTES_MAX: '2048',
        MILLRACE_CAPTURE_BODY_BYTES_MAX: '4096',
        MILLRACE_CAPTURE_EVENT_BYTES_MAX: '2048',
      },
      'warning',
      /BODY_BYTES_MAX to be at most .*, got 4096 of 2048/,
      /Raise/,
    ],
    [
      'settings_project_limits',
      { MILLRACE_PROJECT_BACKLOG_BYTES: '20000000000' },
      'warning',
      /got 20000000000 of 10737418240: it has no effect/,
      /project-limits/,
    ],
    [
      'settings_project_limits',
      { MILLRACE_PROJECT_BYTES_PER_SECOND: '1000' },
      'warning',
      /got 10000 of 20971520: a project waits longer/,
      /project-limits/,
    ],
    [
      'settings_public_url',
      { MILLRACE_HOST: '0.0.0.0' },
      'warning',
      /not set, and the service listens on 0\.0\.0\.0/,
      /on every process/,
    ],
    [
      'settings_public_url',
      { MILLRACE_HOST: '::', MILLRACE_SITE_URL: 'http://localhost:8000' },
      'warning',
      /its own machine/,
      /on every process/,
    ],
    [
      'settings_public_url',
      { MILLRACE_SITE_URL: 'millrace.example.com' },
      'warning',
      /got another form/,
      /on every process/,
    ],
    [
      'settings_public_url',
      { MILLRACE_SITE_URL: 'https://example.com/millrace' },
      'warning',
      /without a path, got \/millrace/,
      /on every process/,
    ],
    [
      'settings_trust_proxy',
      { MILLRACE_SITE_URL: 'https://example.com' },
      'warning',
      /TRUST_PROXY is false/,
      /TRUST_PROXY=true/,
    ],
    [
      'settings_sign_in',
      { MILLRACE_OIDC_ISSUER: 'https://login.example.com' },
      'failed',
      /MILLRACE_OIDC_CLIENT_ID/,
      /sign-in\.md/,
    ],
    ['settings_geoip', { MILLRACE_GEOIP_DATABASE: '/none/"город".mmdb' }, 'failed', /ENOENT.*город/, /path/],
    [
      'settings_certificates',
      { MILLRACE_OUTBOUND_CA: '/none/ca.pem' },
      'failed',
      /OUTBOUND_CA \(\/none\/ca\.pem\): ENOENT/,
      /path/,
    ],
    [
      'settings_test_only',
      { [guard]: 'true', MILLRACE_SLOT_FENCE: 'false' },
      'failed',
      /ALLOW_FAILPOINTS is true/,
      /Remove/,
    ],
  ])('%s is found in %o', async (code, env, state, detail, advice) => {
    const [fault] = (await diagnose(env, [settingsPart])).faults(code);
    expect(fault).toMatchObject({
      state,
      detail: expect.stringMatching(detail),
      advice: expect.stringMatching(advice),
    });
  });

  it('certificates that do not match, text in place of one, and those that expire or have expired are found', async () => {
    const mismatch = await diagnose(clients(files.certificate, files.otherKey), [settingsPart]);
    expect(mismatch.faults()).toMatchObject([{ code: 'settings_certificate_key', state: 'failed' }]);
    const text = await diagnose({ ...cluster, MILLRACE_KAFKA_TLS_CA: files.text }, [settingsPart]);
    expect(text.faults('settings_certificates')).toMatchObject([
      { detail: expect.stringContaining('in PEM, got none') },
    ]);
    const env = clients(files.certificate, files.key);
    for (const [days, state, detail] of [
      [20, 'warning', 'expires on'],
      [40, 'failed', 'expired on'],
      [-2, 'failed', 'is not valid before'],
    ] as const) {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + days * dayMs });
      const faults = (await diagnose(env, [settingsPart])).faults();
      expect(faults).toMatchObject([
        { code: 'settings_certificate_expiry', state, detail: expect.stringContaining(`CN=millrace ${detail}`) },
      ]);
      vi.useRealTimers();
    }
  });
});
