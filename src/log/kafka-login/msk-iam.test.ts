import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createMskTokens, machineCredentials } from './msk-iam.ts';

interface Vector {
  readonly region: string;
  readonly now: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly token: string;
}

/** Written by make.py next to it, which derives them from the description of the signature. */
const vectors = new URL('../../../test/fixtures/msk-tokens/tokens.json', import.meta.url);

it.each(JSON.parse(readFileSync(vectors, 'utf8')) as Vector[])(
  'the token of $accessKeyId in $region is the one that was derived separately',
  async ({ region, now, token, ...credentials }) => {
    const tokens = createMskTokens(region, { credentials: async () => credentials, now: () => Date.parse(now) });
    // The order of parameters has no meaning.
    const parts = (text: string): string[] => Buffer.from(text, 'base64url').toString('utf8').split(/[?&]/).toSorted();
    const made = await tokens();
    expect(parts(made)).toEqual(parts(token));
    expect(made).toMatch(/^[\w-]+$/);
  },
);

it('every login signs with the credentials and the time of then', async () => {
  let call = 0;
  const tokens = createMskTokens('eu-west-1', {
    credentials: async () => ({ accessKeyId: `AKIA${(call += 1)}`, secretAccessKey: 'secret' }),
    now: () => Date.UTC(2026, 0, 1) + call * 60_000,
  });
  const paramsOf = async () => new URL(Buffer.from(await tokens(), 'base64url').toString('utf8')).searchParams;
  const [first, second] = [await paramsOf(), await paramsOf()];
  expect([first, second].map((each) => each.get('X-Amz-Credential')?.split('/')[0])).toEqual(['AKIA1', 'AKIA2']);
  expect(first.get('X-Amz-Date')).not.toBe(second.get('X-Amz-Date'));
});

describe('credentials of the process', () => {
  const later = new Date(Date.now() + 3_600_000).toISOString();
  const requests: string[] = [];
  let answers: (request: IncomingMessage, body: string) => string | undefined;
  let server: Server;
  let origin: string;
  let dir: string;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'millrace-msk-'));
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString('utf8')));
      request.on('end', () => {
        requests.push(`${request.method} ${request.url}`);
        const answer = answers(request, body);
        response.writeHead(answer === undefined ? 404 : 200).end(answer);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await rm(dir, { recursive: true });
  });
  beforeEach(() => {
    requests.length = 0;
    for (const name of Object.keys(process.env).filter((each) => each.startsWith('AWS_'))) vi.stubEnv(name, undefined);
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', join(dir, 'none'));
    vi.stubEnv('AWS_CONFIG_FILE', join(dir, 'none'));
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  });
  afterEach(() => vi.unstubAllEnvs());

  const signedBy = async (credentials = machineCredentials('eu-west-1')): Promise<string> => {
    const token = await createMskTokens('eu-west-1', { credentials, now: Date.now })();
    const { searchParams } = new URL(Buffer.from(token, 'base64url').toString('utf8'));
    return `${searchParams.get('X-Amz-Credential')?.split('/')[0]} ${searchParams.get('X-Amz-Security-Token')}`;
  };

  it('are those of the environment', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIAENV');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
    vi.stubEnv('AWS_SESSION_TOKEN', 'session');
    expect(await signedBy()).toBe('AKIAENV session');
  });

  it('are those of a web identity (IRSA), exchanged at the token service of the region', async () => {
    vi.stubEnv('AWS_WEB_IDENTITY_TOKEN_FILE', join(dir, 'web-identity'));
    vi.stubEnv('AWS_ROLE_ARN', 'arn:aws:iam::123456789012:role/millrace');
    vi.stubEnv('AWS_ENDPOINT_URL_STS', origin);
    await writeFile(join(dir, 'web-identity'), 'header.payload.signature');
    answers = (_request, body) => {
      const sent = new URLSearchParams(body);
      const isRight =
        sent.get('Action') === 'AssumeRoleWithWebIdentity' &&
        sent.get('WebIdentityToken') === 'header.payload.signature' &&
        sent.get('RoleArn') === 'arn:aws:iam::123456789012:role/millrace';
      const found = `<AccessKeyId>ASIAWEB</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>web</SessionToken><Expiration>${later}</Expiration>`;
      const result = `<AssumeRoleWithWebIdentityResult><Credentials>${found}</Credentials></AssumeRoleWithWebIdentityResult>`;
      return isRight ? `<AssumeRoleWithWebIdentityResponse>${result}</AssumeRoleWithWebIdentityResponse>` : undefined;
    };
    expect(await signedBy()).toBe('ASIAWEB web');
  });

  const keys = (id: string, expiration: string): string =>
    JSON.stringify({ AccessKeyId: id, SecretAccessKey: 's', Token: 'token', Expiration: expiration, Code: 'Success' });

  it('are those of the container (EKS pod identity, ECS), with its authorization, and new ones when they expire', async () => {
    vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', `${origin}/v1/credentials`);
    vi.stubEnv('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE', join(dir, 'pod-identity'));
    await writeFile(join(dir, 'pod-identity'), 'pod token');
    answers = ({ headers }) => {
      const isFirst = requests.length === 1;
      const expiration = isFirst ? new Date(Date.now() - 1000).toISOString() : later;
      return headers.authorization === 'pod token' ? keys(isFirst ? 'ASIAOLD' : 'ASIAPOD', expiration) : undefined;
    };
    const credentials = machineCredentials('eu-west-1');
    expect([await signedBy(credentials), await signedBy(credentials)]).toEqual(['ASIAOLD token', 'ASIAPOD token']);
  });

  it('are those of the instance, by version 2 of its metadata service, and are kept', async () => {
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', undefined);
    vi.stubEnv('AWS_EC2_METADATA_SERVICE_ENDPOINT', origin);
    answers = ({ method, url = '', headers }) => {
      if (method === 'PUT' && url === '/latest/api/token') return 'imds token';
      if (headers['x-aws-ec2-metadata-token'] !== 'imds token') return undefined;
      return url === '/latest/meta-data/iam/security-credentials/' ? 'role' : keys('ASIAIMDS', later);
    };
    const credentials = machineCredentials('eu-west-1');
    expect((await credentials()).accessKeyId).toBe('ASIAIMDS');
    const asked = requests.length;
    expect((await credentials()).accessKeyId).toBe('ASIAIMDS');
    expect(requests).toHaveLength(asked);
  });

  it('that do not exist are an error with what to set, and a role that is refused names the reason', async () => {
    await expect(signedBy()).rejects.toMatchObject({
      name: 'KafkaTokenError',
      isFinal: true,
      message: expect.stringMatching(/expected AWS credentials .*, got none: give the process a role/),
    });
    vi.stubEnv('AWS_WEB_IDENTITY_TOKEN_FILE', join(dir, 'missing'));
    vi.stubEnv('AWS_ROLE_ARN', 'arn:aws:iam::123456789012:role/millrace');
    await expect(signedBy()).rejects.toMatchObject({
      name: 'KafkaTokenError',
      isFinal: false,
      message: expect.stringMatching(/ENOENT.*: check the role of the process, and who may assume it/),
    });
  });
});
