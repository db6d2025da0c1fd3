import { dataArgument, isPayload, listArgument, textArgument } from './arguments.ts';
import type { AsyncOps } from './ops.ts';
import { openPostgres, type PostgresConnection } from './postgres-connection.ts';
import { postgresTarget } from './postgres-target.ts';

type ResolveAllowed = (host: string, port: number) => Promise<{ readonly address: string }>;

const connectionsMax = 10;
const queryMax = 16_777_216;

/** What goes wrong with a database is a value, so that all that is known about it arrives. */
export type PostgresOutcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly name: string; readonly message: string; readonly details: Record<string, string> };

/** PostgreSQL and Redshift for one instance: every connection is made to an address that plugins may reach. */
export function createPostgresOps(resolveAllowed: ResolveAllowed): { ops: AsyncOps; close: () => void } {
  const open = new Map<number, PostgresConnection>();
  let last = 0;
  let opening = 0;
  let closed = false;
  const endAll = (): void => {
    for (const each of open.values()) void quietly(each.end());
    open.clear();
  };
  const connect = async (options: unknown): Promise<number> => {
    if (open.size + opening >= connectionsMax) {
      throw new Error(
        `pg: expected at most ${connectionsMax} connections of one config at once; end() those not needed`,
      );
    }
    opening++;
    try {
      const target = postgresTarget(options);
      const { address } = await resolveAllowed(target.host, target.port);
      const made = await openPostgres(target, address);
      const id = ++last;
      open.set(id, made);
      if (closed) endAll();
      return id;
    } finally {
      opening--;
    }
  };
  const connection = (id: unknown): PostgresConnection => {
    const found = typeof id === 'number' ? open.get(id) : undefined;
    if (found === undefined) throw new Error('pg: expected a connection that is open; call connect() first');
    return found;
  };
  const end = async (id: unknown): Promise<null> => {
    const ending = connection(id);
    open.delete(Number(id));
    await ending.end();
    return null;
  };
  return {
    ops: {
      'pg.connect': ([options]) => outcomeOf(connect(options)),
      'pg.query': ([id, text, values]) =>
        outcomeOf((async () => connection(id).query(textArgument(text, 'the query', queryMax), valuesOf(values)))()),
      'pg.end': ([id]) => outcomeOf(end(id)),
    },
    close: () => {
      closed = true;
      endAll();
    },
  };
}

/** Nobody is left to be told how the end of a connection went. */
async function quietly(end: Promise<void>): Promise<void> {
  await Promise.allSettled([end]);
}

/** Objects are bytes: the guest has made JSON of all others. */
function valuesOf(values: unknown): unknown[] {
  return listArgument(values ?? [], 'the values', 65_535).map((value) =>
    isPayload(value) ? dataArgument(value, 'a value') : value,
  );
}

const detailNames = [
  'code',
  'severity',
  'detail',
  'hint',
  'position',
  'schema',
  'table',
  'column',
  'constraint',
  'routine',
];

async function outcomeOf(work: Promise<unknown>): Promise<PostgresOutcome> {
  try {
    return { ok: true, value: await work };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const details: Record<string, string> = {};
    for (const name of detailNames) {
      const detail: unknown = Reflect.get(error, name);
      if (typeof detail === 'string') details[name] = detail;
    }
    return { ok: false, name: error.name, message: error.message, details };
  }
}
