import { ServerAwayError } from '../eventstore.ts';
import type { ClickhouseServer } from './server.ts';

const restMs = 10_000;

/**
 * Servers that can do the same work, in order of preference. Work goes to the first; while that one is away, to the next. One that
 * was away is asked again after a while, with a question that costs little. The same one works for all while it can, so that whoever
 * reads after an insert reads where the rows came in first.
 */
export class Replicas {
  readonly servers: readonly ClickhouseServer[];
  /** By server: when it may be asked again; 0: it answered the last time. */
  readonly #restsUntil: number[];

  constructor(servers: readonly ClickhouseServer[]) {
    this.servers = servers;
    this.#restsUntil = servers.map(() => 0);
  }

  async use<T>(work: (server: ClickhouseServer) => Promise<T>): Promise<T> {
    let failure: unknown = new ServerAwayError('No ClickHouse server of the shard is there to be asked');
    for (const at of this.#order()) {
      const server = this.servers[at] as ClickhouseServer;
      const isKnown = this.#restsUntil[at] === 0;
      if (isKnown || (await server.answers())) {
        try {
          const result = await work(server);
          this.#restsUntil[at] = 0;
          return result;
        } catch (error) {
          if (!(error instanceof ServerAwayError)) throw error;
          failure = error;
        }
      }
      this.#restsUntil[at] = performance.now() + restMs;
    }
    throw failure;
  }

  /** Those that rest come last. */
  #order(): number[] {
    const now = performance.now();
    const rests = (at: number): number => ((this.#restsUntil[at] as number) > now ? 1 : 0);
    return this.servers.map((_, at) => at).toSorted((a, b) => rests(a) - rests(b));
  }
}
