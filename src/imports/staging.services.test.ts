import { randomUUID } from 'node:crypto';
import { describe } from 'vitest';
import { openStaging } from './staging/open-staging.ts';
import { stagingConformance } from '../../test/conformance/staging/staging.ts';

const { BUCKET_ENDPOINT: endpoint, BUCKET_NAME: bucket } = process.env;
const { BUCKET_ACCESS_KEY_ID: accessKeyId = '', BUCKET_SECRET_ACCESS_KEY: secretAccessKey = '' } = process.env;
const reason = endpoint === undefined ? ' (skipped: BUCKET_ENDPOINT is not set)' : '';

describe.skipIf(endpoint === undefined)(`staging on an S3 server${reason}`, () => {
  stagingConformance('a bucket of a real server', () =>
    openStaging(`s3://${bucket}/${randomUUID()}`, {
      ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
      keys: { accessKeyId, secretAccessKey },
    }),
  );
});
