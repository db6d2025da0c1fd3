import { Agent, request } from 'node:http';

export interface LoadResult {
  readonly requests: number;
  readonly wallSeconds: number;
  /** Sorted, in ms. */
  readonly latenciesMs: readonly number[];
}

export interface LoadOptions {
  readonly url: string;
  readonly bodies: readonly Buffer[];
  readonly connections: number;
  /** Requests per second to hold; by default as fast as responses arrive. */
  readonly requestsPerSecond?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
}

/** Sends every body once; throws on any response but 200. Latency counts from when a request was due, not from when it could start. */
export async function load(options: LoadOptions): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: options.connections });
  const latenciesMs: number[] = [];
  const started = performance.now();
  let next = 0;
  const connection = async (): Promise<void> => {
    while (next < options.bodies.length) {
      const index = next++;
      const due = options.requestsPerSecond ? started + (index * 1000) / options.requestsPerSecond : performance.now();
      const wait = due - performance.now();
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      await send(agent, options, options.bodies[index] ?? Buffer.alloc(0));
      latenciesMs.push(performance.now() - due);
    }
  };
  await Promise.all(Array.from({ length: options.connections }, connection));
  const wallSeconds = (performance.now() - started) / 1000;
  agent.destroy();
  return { requests: options.bodies.length, wallSeconds, latenciesMs: latenciesMs.sort((a, b) => a - b) };
}

function send(agent: Agent, options: LoadOptions, body: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      options.url,
      {
        method: options.method ?? 'POST',
        agent,
        headers: { 'content-type': 'application/json', 'content-length': body.length, ...options.headers },
      },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => {
          if (answer.statusCode === 200) resolve();
          else reject(new Error(`expected 200, got: ${answer.statusCode} ${Buffer.concat(chunks).toString()}`));
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** Returns the value below which the share `p` of a sorted list is. */
export function percentile(sorted: readonly number[], p: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return percentile(
    [...values].sort((a, b) => a - b),
    0.5,
  );
}
