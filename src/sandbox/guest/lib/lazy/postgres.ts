import { bytesOfBase64 } from '../base64.ts';
import { callLater } from '../call-later.ts';
import type { LazyParts } from '../modules.ts';
import { toPayload } from '../wire.ts';
import { EventEmitter } from './event-emitter.ts';

interface Answer {
  readonly command: string;
  readonly rowCount: number | null;
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
  readonly rows: readonly (readonly unknown[])[];
}

type Outcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly name: string; readonly message: string; readonly details: Record<string, string> };

type Callback = (error: unknown, result?: unknown) => unknown;

interface Query {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly asArrays: boolean;
}

/** date, timestamp, timestamptz */
const timeTypes = new Set([1082, 1114, 1184]);
const bytesType = 17;

/** Client and Pool of the package pg. The connection itself is made outside, to addresses that plugins may reach. */
export const create = ({ bridge, Buffer }: LazyParts): unknown => {
  const ask = async (op: string, ...args: readonly unknown[]): Promise<unknown> => {
    const outcome = (await bridge.call(`pg.${op}`, args)) as Outcome;
    if (outcome.ok) return outcome.value;
    const error = new Error(outcome.message);
    error.name = outcome.name;
    throw Object.assign(error, outcome.details);
  };
  const reader = createReader((base64) => Buffer.from(bytesOfBase64(base64).buffer));

  class Client extends EventEmitter {
    readonly #options: unknown;
    #connection: Promise<unknown> | undefined;
    /** One query after the other, as in pg. */
    #last: Promise<unknown> = Promise.resolve();

    constructor(options?: unknown) {
      super();
      this.#options = typeof options === 'string' ? { connectionString: options } : (options ?? {});
    }

    connect(callback?: Callback): Promise<void> | undefined {
      this.#connection ??= ask('connect', plainOptions(this.#options));
      return answered(
        this.#connection.then(() => undefined),
        callback,
      );
    }

    query(text: unknown, ...rest: readonly unknown[]): Promise<unknown> | undefined {
      const callback = rest.find((each): each is Callback => typeof each === 'function');
      const query = queryOf(text, Array.isArray(rest[0]) ? rest[0] : undefined);
      const result = this.#last.then(async () => {
        if (this.#connection === undefined) throw new Error('pg: expected connect() before query()');
        const answers = await ask('query', await this.#connection, query.text, query.values);
        return reader(answers as readonly Answer[], query.asArrays);
      });
      this.#last = result.catch(() => undefined);
      return answered(result, callback);
    }

    end(callback?: Callback): Promise<void> | undefined {
      const ending = this.#last.then(async () => {
        const connection = this.#connection;
        this.#connection = undefined;
        if (connection !== undefined) await ask('end', await connection);
        this.emit('end');
      });
      return answered(ending, callback);
    }
  }
  const Pool = createPoolClass(Client);
  return { Client, Pool, types: { builtins: {}, setTypeParser: () => undefined }, defaults: {} };
};

/** Functions and class instances do not cross. */
function plainOptions(options: unknown): unknown {
  return JSON.parse(JSON.stringify(options));
}

function answered<T>(work: Promise<T>, callback: Callback | undefined): Promise<T> | undefined {
  if (callback === undefined) return work;
  void callLater(callback, () => work);
  return undefined;
}

function queryOf(given: unknown, values: readonly unknown[] | undefined): Query {
  const config: Readonly<Record<string, unknown>> =
    typeof given === 'object' && given !== null ? Object.fromEntries(Object.entries(given)) : { text: given };
  const own = Array.isArray(config['values']) ? config['values'] : [];
  return {
    text: String(config['text']),
    values: (values ?? own).map(plainValue),
    asArrays: config['rowMode'] === 'array',
  };
}

/** As pg sends them: times and objects as text, bytes as bytes, lists as they are. */
function plainValue(value: unknown): unknown {
  if (value === undefined || value === null) return null;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return toPayload(value);
  if (typeof value === 'bigint') return String(value);
  return typeof value === 'object' && !Array.isArray(value) ? JSON.stringify(value) : value;
}

function createReader(bytes: (base64: string) => unknown) {
  const valueOf = (value: unknown, type: number): unknown => {
    if (typeof value === 'string' && timeTypes.has(type)) return new Date(value);
    const isBytes = type === bytesType && typeof value === 'object' && value !== null && 'base64' in value;
    return isBytes ? bytes(String(value.base64)) : value;
  };
  const result = ({ rows, fields, ...about }: Answer, asArrays: boolean): unknown => {
    const lists = rows.map((row) => row.map((value, at) => valueOf(value, fields[at]?.dataTypeID ?? 0)));
    const objects = (): unknown[] =>
      lists.map((row) => Object.fromEntries(row.map((value, at) => [fields[at]?.name ?? String(at), value])));
    return { ...about, fields, rows: asArrays ? lists : objects() };
  };
  return (answers: readonly Answer[], asArrays: boolean): unknown => {
    const results = answers.map((answer) => result(answer, asArrays));
    return results.length === 1 ? results[0] : results;
  };
}

interface PooledClient extends EventEmitter {
  connect(): Promise<void> | undefined;
  query(text: unknown, ...rest: readonly unknown[]): Promise<unknown> | undefined;
  end(): Promise<void> | undefined;
  release?: (broken?: unknown) => void;
}

function createPoolClass(Client: new (options?: unknown) => PooledClient) {
  return class Pool extends EventEmitter {
    readonly #options: unknown;
    readonly #max: number;
    readonly #idle: PooledClient[] = [];
    readonly #waiting: ((client: PooledClient | undefined) => void)[] = [];
    #count = 0;

    constructor(options?: unknown) {
      super();
      this.#options = options;
      const max: unknown = typeof options === 'object' && options !== null ? Reflect.get(options, 'max') : undefined;
      this.#max = typeof max === 'number' && max > 0 ? Math.min(max, 10) : 10;
    }

    get totalCount(): number {
      return this.#count;
    }

    get idleCount(): number {
      return this.#idle.length;
    }

    get waitingCount(): number {
      return this.#waiting.length;
    }

    connect(callback?: Callback): Promise<unknown> | undefined {
      return answered(this.#take(), callback);
    }

    query(text: unknown, ...rest: readonly unknown[]): Promise<unknown> | undefined {
      const callback = rest.find((each): each is Callback => typeof each === 'function');
      const values = rest.filter((each) => typeof each !== 'function');
      return answered(this.#queryOnce(text, values), callback);
    }

    end(callback?: Callback): Promise<void> | undefined {
      const ending = Promise.all(this.#idle.splice(0).map((client) => client.end())).then(() => undefined);
      return answered(ending, callback);
    }

    async #queryOnce(text: unknown, values: readonly unknown[]): Promise<unknown> {
      const client = await this.#take();
      try {
        return await client.query(text, ...values);
      } finally {
        client.release?.();
      }
    }

    async #take(): Promise<PooledClient> {
      const idle = this.#idle.pop();
      if (idle !== undefined) return this.#lent(idle);
      if (this.#count >= this.#max) {
        const given = await new Promise<PooledClient | undefined>((resolve) => {
          this.#waiting.push(resolve);
        });
        return given === undefined ? this.#take() : this.#lent(given);
      }
      this.#count++;
      try {
        const client = new Client(this.#options);
        await client.connect();
        return this.#lent(client);
      } catch (error) {
        this.#gone();
        throw error;
      }
    }

    #lent(client: PooledClient): PooledClient {
      let released = false;
      client.release = (broken) => {
        if (released) throw new Error('pg: expected release() once per client');
        released = true;
        if (broken) void this.#drop(client);
        else this.#giveBack(client);
      };
      return client;
    }

    #giveBack(client: PooledClient): void {
      const next = this.#waiting.shift();
      if (next === undefined) this.#idle.push(client);
      else next(client);
    }

    async #drop(client: PooledClient): Promise<void> {
      this.#gone();
      try {
        await client.end();
      } catch (error) {
        if (this.listenerCount('error') > 0) this.emit('error', error);
      }
    }

    /** There is room for another one: whoever waits makes it. */
    #gone(): void {
      this.#count--;
      this.#waiting.shift()?.(undefined);
    }
  };
}
