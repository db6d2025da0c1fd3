import { isUsable, migrations, presentSchema, type PresentSchema } from '../migrate-store.ts';
import {
  checkLayout,
  clusterLayout,
  clusterRowsSql,
  knownAddresses,
  type ClusterLayout,
  type ClusterRow,
} from './cluster-layout.ts';
import { checkUrl } from './connect-clickhouse.ts';
import { Replicas } from './replicas.ts';
import { connectServer, type ClickhouseServer } from './server.ts';

/** Servers of the event store, for reading what they say about themselves. */
export interface ClickhouseInspection extends AsyncDisposable {
  readonly version: string;
  readonly database: string;
  /** One that answers. */
  readonly server: ClickhouseServer;
  /** Servers of each shard; those of a single server are one shard. @throws ClusterLayoutError */
  shards(): Promise<readonly (readonly ClickhouseServer[])[]>;
  /** @throws ClusterLayoutError unless the shards are those that events were stored on */
  checkShards(): Promise<void>;
  /** Version of the tables, 0 without tables, and the newest that this program supports. */
  schema(): Promise<PresentSchema & { readonly isUsable: boolean; readonly supported: number }>;
}

const queryTimeoutMs = 8000;

/** Connects without creating or changing anything. @throws StoreUnavailableError when no server can be reached */
export async function inspectServers(
  url: string,
  { cluster, replicas }: { readonly cluster: string; readonly replicas: string },
): Promise<ClickhouseInspection> {
  const address = checkUrl(url);
  const opened = new Map<string, ClickhouseServer>();
  const serverOf = (at: URL): ClickhouseServer => {
    const server = opened.get(at.href) ?? connectServer(at, { queryTimeoutMs });
    opened.set(at.href, server);
    return server;
  };
  const close = async (): Promise<void> => {
    await Promise.all([...opened.values()].map((server) => server.close()));
  };
  const any = new Replicas(knownAddresses(address, replicas).map(serverOf));
  try {
    const { server, version } = await any.use(async (each) => {
      const [row] = await each.rows<{ version: string }>('SELECT version() AS version');
      return { server: each, version: row?.version ?? '' };
    });
    const layout = async (): Promise<ClusterLayout> =>
      clusterLayout(await server.rows<ClusterRow>(clusterRowsSql, { cluster }), { url: address, cluster, replicas });
    return {
      version,
      database: decodeURIComponent(address.pathname.slice(1)) || 'default',
      server,
      shards: async () => (cluster === '' ? [[server]] : (await layout()).replicas.map((shard) => shard.map(serverOf))),
      checkShards: async () => await checkLayout(server, await layout(), cluster),
      schema: async () => {
        const present = await presentSchema(server);
        return { ...present, isUsable: isUsable(present), supported: migrations.length };
      },
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
