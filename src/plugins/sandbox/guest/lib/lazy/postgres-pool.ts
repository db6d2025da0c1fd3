import { EventEmitter } from './event-emitter.ts';
import type { PostgresClient } from './postgres-client.ts';
import { answered, isCallback, type Callback } from './postgres-wire.ts';

const clientsMax = 10;

export class PostgresPool extends EventEmitter {
  readonly #make: () => PostgresClient;
  readonly #max: number;
  readonly #idle: PostgresClient[] = [];
  readonly #waiting: ((client: PostgresClient | undefined) => void)[] = [];
  #count = 0;

  constructor(make: () => PostgresClient, options: unknown) {
    super();
    this.#make = make;
    const max: unknown = typeof options === 'object' && options !== null ? Reflect.get(options, 'max') : undefined;
    this.#max = typeof max === 'number' && max > 0 ? Math.min(max, clientsMax) : clientsMax;
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

  connect(callback?: Callback): Promise<PostgresClient> | undefined {
    return answered(this.#take(), callback);
  }

  query(text: unknown, ...rest: readonly unknown[]): Promise<unknown> | undefined {
    const values = rest.filter((each) => !isCallback(each));
    return answered(this.#queryOnce(text, values), rest.find(isCallback));
  }

  end(callback?: Callback): Promise<void> | undefined {
    const ending = Promise.all(this.#idle.splice(0).map((client) => this.#drop(client)));
    return answered(
      ending.then(() => undefined),
      callback,
    );
  }

  async #queryOnce(text: unknown, values: readonly unknown[]): Promise<unknown> {
    const client = await this.#take();
    try {
      return await client.query(text, ...values);
    } finally {
      client.release?.();
    }
  }

  async #take(): Promise<PostgresClient> {
    const idle = this.#idle.pop();
    if (idle !== undefined) return this.#lend(idle);
    if (this.#count >= this.#max) {
      const given = await new Promise<PostgresClient | undefined>((resolve) => {
        this.#waiting.push(resolve);
      });
      return given === undefined ? this.#take() : this.#lend(given);
    }
    this.#count++;
    try {
      const client = this.#make();
      await client.connect();
      return this.#lend(client);
    } catch (error) {
      this.#gone();
      throw error;
    }
  }

  #lend(client: PostgresClient): PostgresClient {
    let released = false;
    client.release = (broken) => {
      if (released) throw new Error('pg: expected release() once per client');
      released = true;
      if (broken) void this.#drop(client);
      else this.#takeBack(client);
    };
    return client;
  }

  #takeBack(client: PostgresClient): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(client);
    else next(client);
  }

  async #drop(client: PostgresClient): Promise<void> {
    this.#gone();
    try {
      await client.end();
    } catch (error) {
      if (this.listenerCount('error') > 0) this.emit('error', error);
    }
  }

  /** A client is gone, so a waiting caller can open another one. */
  #gone(): void {
    this.#count--;
    this.#waiting.shift()?.(undefined);
  }
}
