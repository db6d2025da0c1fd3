import type { LazyDeps } from '../modules.ts';
import { KinesisClient } from './aws-kinesis.ts';
import { S3Client } from './aws-s3.ts';
import type { AwsOptions } from './aws-service.ts';

/** The part of aws-sdk 2 that published plugins use. Other AWS services throw an error that says so. */
export const create = (deps: LazyDeps): unknown => {
  const { URL } = deps;
  const defaults: Record<string, unknown> = {};
  class S3 extends S3Client {
    constructor(options: AwsOptions = {}) {
      super(deps, { ...defaults, ...options });
    }
  }
  class Kinesis extends KinesisClient {
    constructor(options: AwsOptions = {}) {
      super(deps, { ...defaults, ...options });
    }
  }
  class Endpoint extends URL {
    constructor(address: unknown) {
      super(/^https?:/.test(String(address)) ? address : `https://${String(address)}`);
    }
  }
  const config = {
    update: (options: AwsOptions): void => {
      Object.assign(defaults, options);
    },
  };
  return new Proxy(
    { S3, Kinesis, Endpoint, config },
    {
      get: (target, name) => {
        const isService = typeof name === 'string' && /^[A-Z]/.test(name) && !Reflect.has(target, name);
        if (!isService) return Reflect.get(target, name);
        throw new Error(
          `aws-sdk: expected S3 or Kinesis, got ${name}; call its API with fetch, or bundle a client of it`,
        );
      },
    },
  );
};
