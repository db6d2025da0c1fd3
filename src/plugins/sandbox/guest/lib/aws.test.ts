import { createHash, createHmac } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { OutboundRequest, OutboundResponse } from '../../../outbound/outbound.ts';
import { openTestIsolate, type TestIsolate } from './isolate.fixture.ts';
import { signedHeaders } from './lazy/aws-signature.ts';

const sent: OutboundRequest[] = [];
let next: Partial<OutboundResponse> = {};
const isolate: TestIsolate = await openTestIsolate({
  outbound: (request) => {
    sent.push(request);
    return Promise.resolve({
      status: 200,
      statusText: 'OK',
      headers: {},
      url: request.url,
      body: new Uint8Array(),
      ...next,
    });
  },
});

beforeEach(() => {
  sent.length = 0;
  next = {};
});

afterAll(() => isolate.close());

const options = `{ accessKeyId: 'AK', secretAccessKey: 'SK', region: 'eu-west-1' }`;
const s3 = (code: string, more = '{}'): Promise<unknown> =>
  isolate.run(`((s3) => ${code})(new (require('aws-sdk').S3)({ ...${options}, ...${more} }))`);
const kinesis = (code: string): Promise<unknown> =>
  isolate.run(`((kinesis) => ${code})(new (require('aws-sdk').Kinesis)(${options}))`);

describe('signatures', () => {
  it('are those of the published example', () => {
    // docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html, GET Object
    const headers = signedHeaders(
      { createHash, createHmac: (name: string, key: unknown) => createHmac(name, key as string) },
      {
        method: 'GET',
        host: 'examplebucket.s3.amazonaws.com',
        path: '/test.txt',
        query: {},
        headers: { Range: 'bytes=0-9' },
        body: '',
      },
      { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' },
      { region: 'us-east-1', service: 's3', now: Date.UTC(2013, 4, 24) },
    );
    expect(headers['authorization']).toContain('f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41');
    expect(headers['authorization']).toContain('SignedHeaders=host;range;x-amz-content-sha256;x-amz-date');
  });
});

describe('S3', () => {
  it('upload sends the object with its checksums, and calls back', async () => {
    next = { headers: { etag: '"e"' } };
    const params = `{ Bucket: 'my-bucket', Key: 'a b/ü.gz', Body: Buffer.from([1, 2]), ServerSideEncryption: 'aws:kms', SSEKMSKeyId: 'key' }`;
    const result = await s3(`new Promise((resolve) => s3.upload(${params}, (error, data) => resolve([error, data])))`);
    const url = 'https://my-bucket.s3.eu-west-1.amazonaws.com/a%20b/%C3%BC.gz';
    expect(result).toEqual([
      null,
      { ETag: '"e"', Location: url, Key: 'a b/ü.gz', key: 'a b/ü.gz', Bucket: 'my-bucket' },
    ]);
    expect(sent).toMatchObject([
      {
        method: 'PUT',
        url,
        body: Buffer.from([1, 2]),
        headers: {
          authorization: expect.stringContaining('AWS4-HMAC-SHA256 Credential=AK/20260102/eu-west-1/s3/aws4_request'),
          'x-amz-content-sha256': createHash('sha256')
            .update(Buffer.from([1, 2]))
            .digest('hex'),
          'x-amz-server-side-encryption': 'aws:kms',
          'x-amz-server-side-encryption-aws-kms-key-id': 'key',
        },
      },
    ]);
  });

  it.each([
    [`{ endpoint: 'https://minio.example:9000', s3ForcePathStyle: true }`, 'https://minio.example:9000/my-bucket/k'],
    [`{ endpoint: 'storage.example' }`, 'https://my-bucket.storage.example/k'],
    [`{ endpoint: new (require('aws-sdk').Endpoint)('http://a.example') }`, 'http://my-bucket.a.example/k'],
  ])('with %s it goes to %s', async (more, url) => {
    await s3(`s3.putObject({ Bucket: 'my-bucket', Key: 'k', Body: 'x' }).promise()`, more);
    expect(sent.map((request) => request.url)).toEqual([url]);
  });

  it('a refusal is an error with its code', async () => {
    next = {
      status: 403,
      body: Buffer.from('<Error><Code>AccessDenied</Code><Message>Not &amp; you</Message></Error>'),
    };
    const code = `s3.putObject({ Bucket: 'my-bucket', Key: 'k' }).promise().catch((error) => [error.code, error.name, error.message, error.statusCode])`;
    expect(await s3(code)).toEqual(['AccessDenied', 'AccessDenied', 'Not & you', 403]);
  });

  it('lists and reads', async () => {
    next = {
      body: Buffer.from('<R><IsTruncated>false</IsTruncated><Contents><Key>a&lt;b</Key><Size>3</Size></Contents></R>'),
    };
    expect(await s3(`s3.listObjectsV2({ Bucket: 'my-bucket', Prefix: 'a' }).promise()`)).toMatchObject({
      Contents: [{ Key: 'a<b', Size: 3 }],
      IsTruncated: false,
    });
    expect(sent[0]?.url).toBe('https://my-bucket.s3.eu-west-1.amazonaws.com/?list-type=2&prefix=a');
    expect(
      await s3(
        `s3.getObject({ Bucket: 'my-bucket', Key: 'k' }).promise().then(({ Body }) => Body.toString().slice(0, 3))`,
      ),
    ).toBe('<R>');
  });
});

describe('Kinesis', () => {
  it('reads records and returns their bytes', async () => {
    next = { body: Buffer.from(JSON.stringify({ Records: [{ Data: 'eyJhIjoxfQ==' }], NextShardIterator: 'n' })) };
    const code = `new Promise((resolve) => kinesis.getRecords({ ShardIterator: 'i' }, (error, data) => resolve([error, JSON.parse(Buffer.from(data.Records[0].Data).toString()), data.NextShardIterator])))`;
    expect(await kinesis(code)).toEqual([null, { a: 1 }, 'n']);
    expect(sent).toMatchObject([
      {
        url: 'https://kinesis.eu-west-1.amazonaws.com/',
        body: Buffer.from('{"ShardIterator":"i"}'),
        headers: { 'x-amz-target': 'Kinesis_20131202.GetRecords', 'content-type': 'application/x-amz-json-1.1' },
      },
    ]);
  });

  it('sends bytes as base64', async () => {
    next = { body: Buffer.from('{}') };
    await kinesis(`kinesis.putRecord({ StreamName: 's', PartitionKey: 'p', Data: 'é' }).promise()`);
    expect(String(sent[0]?.body)).toBe('{"StreamName":"s","PartitionKey":"p","Data":"w6k="}');
  });

  it('errors keep their name', async () => {
    next = { status: 400, body: Buffer.from('{"__type":"a#ExpiredIteratorException","message":"late"}') };
    const code = `kinesis.getRecords({}).promise().catch((error) => [error.name, error.message])`;
    expect(await kinesis(code)).toEqual(['ExpiredIteratorException', 'late']);
  });
});

it('other AWS services throw with an alternative', async () => {
  await expect(isolate.run(`new (require('aws-sdk').SQS)()`)).rejects.toThrow('expected S3 or Kinesis, got SQS');
  await expect(isolate.run(`new (require('aws-sdk').S3)().putObject({ Bucket: 'bucket' }).promise()`)).rejects.toThrow(
    'accessKeyId',
  );
});
