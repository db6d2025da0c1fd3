import type { LazyDeps } from '../modules.ts';
import { PostgresClient } from './postgres-client.ts';
import { PostgresPool } from './postgres-pool.ts';
import { createPostgresWire } from './postgres-wire.ts';

/** Client and Pool of the package pg. Connections are opened outside, to addresses that plugins may reach. */
export const create = (deps: LazyDeps): unknown => {
  const wire = createPostgresWire(deps);
  class Client extends PostgresClient {
    constructor(options?: unknown) {
      super(wire, options);
    }
  }
  class Pool extends PostgresPool {
    constructor(options?: unknown) {
      super(() => new Client(options), options);
    }
  }
  return { Client, Pool };
};
