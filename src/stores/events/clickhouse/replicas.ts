import { isOfOneServer } from '../engine-errors.ts';
import { ServerAwayError } from '../eventstore.ts';
import type { ClickhouseServer } from './server.ts';

const restMs = 10_000;

/**
 * Servers that can do the same work, in order of preference. Work goes to the first available one. A server that was unavailable, or
 * whose disk is full or was lost, is tried again after a while. All callers use the same server while it works, so that a read after an insert goes to where the rows
 * arrived first.
 */
export class Replicas {
  readonly servers: readonly ClickhouseServer[];
  /** Per server, when it may be tried again; 0 if it answered the last time. */
  readonly #restsUntil: number[];

  constructor(servers: readonly ClickhouseServer[]) {
    this.servers = servers;
    this.#restsUntil = servers.map(() => 0);
  }

  async use<T>(work: (server: ClickhouseServer) => Promise<T>): Promise<T> {
    let failure: unknown = new ServerAwayError('No ClickHouse server of the shard is available');
    for (const at of this.#order()) {
      const server = this.servers[at] as ClickhouseServer;
      const isKnown = this.#restsUntil[at] === 0;
      if (isKnown || (await server.answers())) {
        try {
          const result = await work(server);
          this.#restsUntil[at] = 0;
          return result;
        } catch (error) {
          if (!isOfOneServer(error)) throw error;
          failure = error;
        }
      }
      this.#restsUntil[at] = performance.now() + restMs;
    }
    throw failure;
  }

  /** Puts servers that were recently unavailable last. */
  #order(): number[] {
    const now = performance.now();
    const rests = (at: number): number => ((this.#restsUntil[at] as number) > now ? 1 : 0);
    return this.servers.map((_, at) => at).toSorted((a, b) => rests(a) - rests(b));
  }
}
