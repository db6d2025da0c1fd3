import type { S3ClientConfig } from '@aws-sdk/client-s3';
import type { BucketSettings } from './bucket.ts';

type Handler = NonNullable<S3ClientConfig['requestHandler']>;

/**
 * Returns how requests are signed. Credentials of a role are fetched with the others and renewed before they expire.
 * @param requestHandler for requests to the token service, which follow the same rules as those to the bucket
 */
export async function credentialsOf(settings: BucketSettings, requestHandler: Handler): Promise<S3ClientConfig> {
  const { credentials, profile, role, region, endpoint } = settings;
  if (credentials === undefined) return unsigned;
  const { fromNodeProviderChain, fromTemporaryCredentials } = await import('@aws-sdk/credential-providers');
  const own =
    credentials === 'ambient' ? fromNodeProviderChain(profile === undefined ? {} : { profile }) : { ...credentials };
  if (role === undefined) return { credentials: own };
  const { arn, externalId } = role;
  return {
    credentials: fromTemporaryCredentials({
      masterCredentials: own,
      params: {
        RoleArn: arn,
        RoleSessionName: 'millrace-import',
        ...(externalId === undefined ? {} : { ExternalId: externalId }),
      },
      // S3-compatible services with roles provide them at the same address.
      clientConfig: { region, requestHandler, ...(endpoint === undefined ? {} : { endpoint }) },
    }),
  };
}

/** By default the SDK would search the environment and the machine's metadata service for keys. */
const unsigned: S3ClientConfig = {
  credentials: { accessKeyId: '', secretAccessKey: '' },
  signer: { sign: async (request) => request },
};
