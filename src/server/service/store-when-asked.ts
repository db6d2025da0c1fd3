import type { EventStore } from '../../stores/events/eventstore.ts';

/** A store that is connected to when it is first asked for something, and again until that has worked. */
export function storeWhenAsked(connect: () => Promise<EventStore>): EventStore {
  let connected: Promise<EventStore> | undefined;
  const store = (): Promise<EventStore> => {
    if (connected !== undefined) return connected;
    const connecting = connect();
    connected = connecting;
    connecting.catch(() => (connected = undefined));
    return connecting;
  };
  return {
    insertBatch: async (batch, token) => (await store()).insertBatch(batch, token),
    deleteRun: async (rows, watch) => (await store()).deleteRun(rows, watch),
    query: async (sql, params) => (await store()).query(sql, params),
    health: async () => (await store()).health(),
    close: async () => (await connected?.catch(() => undefined))?.close(),
  };
}
