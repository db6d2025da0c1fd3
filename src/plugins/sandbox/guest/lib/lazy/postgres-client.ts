import { EventEmitter } from './event-emitter.ts';
import { answered, isCallback, type Callback, type PostgresWire } from './postgres-wire.ts';

export class PostgresClient extends EventEmitter {
  /** Present on clients that a pool lends. */
  release?: (broken?: unknown) => void;
  readonly #wire: PostgresWire;
  readonly #options: unknown;
  #connection: Promise<unknown> | undefined;
  /** One query after the other, as in pg. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(wire: PostgresWire, options: unknown) {
    super();
    this.#wire = wire;
    this.#options = typeof options === 'string' ? { connectionString: options } : (options ?? {});
  }

  connect(callback?: Callback): Promise<void> | undefined {
    this.#connection ??= this.#wire.connect(this.#options);
    const connected = this.#connection.then(() => undefined);
    return answered(connected, callback);
  }

  query(text: unknown, ...rest: readonly unknown[]): Promise<unknown> | undefined {
    const values: readonly unknown[] | undefined = Array.isArray(rest[0]) ? rest[0] : undefined;
    const before = this.#last;
    const result = (async () => {
      await before;
      if (this.#connection === undefined) throw new Error('pg: expected connect() before query()');
      return this.#wire.query(await this.#connection, text, values);
    })();
    this.#last = result.catch(() => undefined);
    return answered(result, rest.find(isCallback));
  }

  end(callback?: Callback): Promise<void> | undefined {
    const before = this.#last;
    const ending = (async () => {
      await before;
      const connection = this.#connection;
      this.#connection = undefined;
      if (connection !== undefined) await this.#wire.end(await connection);
      this.emit('end');
    })();
    return answered(ending, callback);
  }
}
