import { SourceChangedError, SourceError, SourceWaitError, type Source, type SourceHost } from '../source.ts';
import { OutboundError } from '../../plugins/outbound/outbound.ts';
import { connectBucket, type Bucket, type BucketObject, type BucketSettings } from '../s3/bucket.ts';
import { BucketError } from '../s3/errors.ts';
import { type SettingValues, yesNo } from '../../plugins/fields.ts';
import { defineImportSource, wrongSetting } from '../../plugins/plugin.ts';
import { textSetting, yesSetting } from '../../plugins/setting-values.ts';
import { bucketSource, selectionFields, type ListedObject, type ObjectStore } from './bucket-source.ts';
import { fileKinds } from './files.ts';
import { shortKey } from './find-files.ts';

const credentialChoices = ['keys', 'machine'] as const;

/** Objects of an S3-compatible bucket. */
export const s3 = defineImportSource({
  slug: 's3',
  name: 'S3 bucket',
  description: `Imports the objects of a bucket on AWS or any S3-compatible service: ${fileKinds}`,
  fields: [
    { key: 'bucket', name: 'Bucket', type: 'string', required: true, hint: 'Its name, without s3://.' },
    ...selectionFields,
    {
      key: 'region',
      name: 'Region',
      type: 'string',
      default: 'us-east-1',
      hint: 'As named by the provider; self-hosted services mostly accept any.',
    },
    {
      key: 'endpoint',
      name: 'Endpoint',
      type: 'string',
      hint: 'For S3-compatible services other than AWS, such as https://storage.example.com. Empty: AWS.',
    },
    {
      key: 'access_key_id',
      name: 'Access key id',
      type: 'string',
      hint: 'Id of a key that may list the bucket and read its objects. Empty: a public bucket.',
    },
    {
      key: 'secret_access_key',
      name: 'Secret access key',
      type: 'string',
      secret: true,
      sent_to: ['endpoint', 'bucket'],
      required_if: [['access_key_id']],
      hint: 'Belongs to the access key id.',
    },
    {
      key: 'session_token',
      name: 'Session token',
      type: 'string',
      secret: true,
      sent_to: ['endpoint', 'bucket'],
      hint: 'Only for temporary keys, valid until the end of the export.',
    },
    {
      key: 'credentials',
      name: 'Credentials',
      type: 'choice',
      choices: credentialChoices,
      default: 'keys',
      hint:
        "`keys`: the keys above, if any. `machine`: those of the machine (environment, profile, the instance's or container's role), " +
        'available on the command line; in a service only if its operator permits it.',
    },
    {
      key: 'profile',
      name: 'Profile',
      type: 'string',
      visible_if: [['credentials', 'machine']],
      hint: "Profile in the machine's AWS configuration files.",
    },
    {
      key: 'role_arn',
      name: 'Role',
      type: 'string',
      hint: 'Assumed with the credentials: arn:aws:iam::123456789012:role/exports. Its credentials are renewed automatically.',
    },
    {
      key: 'external_id',
      name: 'External id',
      type: 'string',
      visible_if: [['role_arn']],
      hint: 'If the trust policy of the role requires one.',
    },
    {
      key: 'path_style',
      name: 'Bucket in the path',
      ...yesNo('Yes'),
      visible_if: [['endpoint']],
      hint: 'Yes: https://endpoint/bucket/key, which most self-hosted services require. No: https://bucket.endpoint/key.',
    },
  ],
  formats: [],
  range: undefined,
  example: { bucket: 'my-exports', prefix: 'mixpanel/', access_key_id: 'AKIDEXAMPLE', secret_access_key: 'secret' },
  createSource,
});

function createSource(settings: SettingValues, host: SourceHost): Source {
  const place = placeOf(settings, host);
  const list = async function* (bucket: Bucket, prefix: string, signal: AbortSignal) {
    for await (const page of bucket.list(prefix, signal)) yield page.map(listedObject);
  };
  const store: ObjectStore = {
    list: (prefix, { signal }) => inBucket(place, host, (bucket) => list(bucket, prefix, signal)),
    read: (part, { signal }) => {
      const key = part.detail?.['key'];
      if (typeof key !== 'string') throw new SourceError(`${part.key} not found in the bucket`);
      const same = part.identity === undefined || !part.stable ? {} : { etag: part.identity };
      return inBucket(place, host, (bucket) => bucket.read(key, { ...same, signal }));
    },
  };
  return bucketSource(store, settings, host);
}

function listedObject({ key, bytes, etag, modifiedAt }: BucketObject): ListedObject {
  // A service without ETags cannot be restricted to the listed version of an object.
  const known = etag === '' ? { stable: false, identity: `${bytes}-${modifiedAt}` } : { stable: true, identity: etag };
  return { key, bytes, part: { key: shortKey(key), bytes, ...known, detail: { key } } };
}

/** Yields what `work` reads from a connection, which ends with it. Errors: those of a source. */
async function* inBucket<T>(
  place: BucketSettings,
  host: SourceHost,
  work: (bucket: Bucket) => AsyncIterable<T>,
): AsyncGenerator<T> {
  assertPermitted(place, host);
  const bucket = await connectBucket(place);
  try {
    yield* work(bucket);
  } catch (error) {
    throw asSourceError(error);
  } finally {
    bucket.close();
  }
}

/** Must be called before searching the machine for credentials. */
function assertPermitted({ credentials }: BucketSettings, { machineCredentials = false }: SourceHost): void {
  if (credentials !== 'ambient' || machineCredentials !== false) return;
  throw new SourceError(
    'the credentials of this machine must not be used: set keys, or ask an operator to set MILLRACE_IMPORT_MACHINE_CREDENTIALS',
  );
}

function asSourceError(error: unknown): unknown {
  if (error instanceof OutboundError && !error.retry) return new SourceError(error.message, { cause: error });
  if (error instanceof OutboundError) return new SourceWaitError(error.message, { unlimited: true, cause: error });
  if (!(error instanceof BucketError)) return error;
  if (error.kind === 'changed') return new SourceChangedError(error.message, { cause: error });
  if (error.kind !== 'wait') return new SourceError(error.message, { cause: error });
  const { retryAfterMs } = error;
  return new SourceWaitError(error.message, {
    unlimited: true,
    cause: error,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

function placeOf(settings: SettingValues, host: SourceHost): BucketSettings {
  const text = (key: string): string => textSetting(settings, key).trim();
  const bucket = text('bucket');
  const region = textSetting(settings, 'region', 'us-east-1').trim();
  const endpoint = text('endpoint');
  if (!/^[a-zA-Z0-9][a-zA-Z0-9._-]{1,62}$/.test(bucket)) {
    throw wrongSetting('bucket', 'expected the name of a bucket, without s3:// and path');
  }
  if (!/^[a-z0-9-]{1,40}$/i.test(region)) throw wrongSetting('region', 'expected a region such as eu-central-1');
  const accessKeyId = text('access_key_id');
  const secretAccessKey = text('secret_access_key');
  const sessionToken = text('session_token');
  if ((accessKeyId === '') !== (secretAccessKey === '')) {
    throw wrongSetting('access_key_id', 'expected it together with "secret_access_key", or neither');
  }
  const isMachine = textSetting(settings, 'credentials', 'keys') === 'machine';
  if (isMachine && accessKeyId !== '')
    throw wrongSetting('access_key_id', 'expected no value with the credentials machine');
  const keys = { accessKeyId, secretAccessKey, ...(sessionToken === '' ? {} : { sessionToken }) };
  return {
    bucket,
    region,
    resolve: host.resolve,
    ...(endpoint === ''
      ? {}
      : { endpoint: endpointOf(endpoint), forcePathStyle: yesSetting(settings, 'path_style', 'Yes') }),
    ...(accessKeyId === '' ? {} : { credentials: keys }),
    ...(isMachine ? machineAccess(text('profile')) : {}),
    ...roleOf(text('role_arn'), text('external_id'), isMachine || accessKeyId !== ''),
  };
}

function machineAccess(profile: string): Partial<BucketSettings> {
  if (!/^[\w .@-]{0,100}$/.test(profile)) throw wrongSetting('profile', 'expected the name of a profile');
  return { credentials: 'ambient', ...(profile === '' ? {} : { profile }) };
}

function roleOf(arn: string, externalId: string, hasCredentials: boolean): Partial<BucketSettings> {
  if (arn === '') return {};
  if (!/^arn:[\w-]+:iam::\d*:role\/[\w+=,.@/-]+$/.test(arn)) {
    throw wrongSetting('role_arn', 'expected a role such as arn:aws:iam::123456789012:role/exports');
  }
  if (!hasCredentials)
    throw wrongSetting('role_arn', 'expected credentials that may assume it: keys, or those of the machine');
  return { role: { arn, ...(externalId === '' ? {} : { externalId }) } };
}

function endpointOf(text: string): string {
  const url = URL.parse(text);
  const plain = url !== null && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (plain && /^https?:$/.test(url.protocol)) return url.href;
  throw wrongSetting('endpoint', 'expected an address such as https://storage.example.com, without a key');
}
