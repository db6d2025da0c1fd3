import type { FastifyInstance } from 'fastify';
import type { MetricsRegistry } from '../telemetry/metrics.ts';

export interface HealthResult {
  readonly ok: boolean;
  /** One sentence for an operator. */
  readonly detail?: string;
  /** The service works without it: it is reported, and the service stays ready. */
  readonly optional?: true;
  /** Figures behind the sentence, as sent to clients. */
  readonly waiting?: Readonly<Record<string, Readonly<Record<string, number>>>>;
}
/** Checks whether each component works, by name. */
export type HealthChecks = Readonly<Record<string, () => Promise<HealthResult>>>;

/** Shorter than probes and `millrace healthcheck` wait for the response. */
const checkMs = 4_000;

/** Our names and those of the original service, which existing probes use. */
export const livePaths: readonly string[] = ['/livez', '/_health', '/_liveness'];
export const readyPaths: readonly string[] = ['/readyz', '/_readiness'];

/** Serves GET /livez (the process answers), /readyz (its components work; `?verbose` lists them) and /metrics (Prometheus text). */
export function serveHealth(app: FastifyInstance, health: HealthChecks, metrics: MetricsRegistry): void {
  for (const url of livePaths) {
    app.get(url, async (_request, reply) => reply.header('cache-control', 'no-store').send({ status: 'ok' }));
  }
  for (const url of readyPaths) {
    app.get(url, async (request, reply) => {
      const results = await runChecks(health);
      const ok = Object.values(results).every((result) => result.ok || result.optional === true);
      const status = ok ? 'ok' : 'unavailable';
      const verbose = (request.query as Readonly<Record<string, unknown>>)['verbose'] !== undefined;
      return reply
        .code(ok ? 200 : 503)
        .header('cache-control', 'no-store')
        .send(verbose ? { status, checks: results } : { status });
    });
  }
  app.get('/metrics', async (_request, reply) => {
    await reply.type('text/plain; version=0.0.4; charset=utf-8').send(await metrics.text());
  });
}

/** Runs all checks concurrently, each within a few seconds. */
export async function runChecks(health: HealthChecks): Promise<Record<string, HealthResult>> {
  const entries = await Promise.all(
    Object.entries(health).map(async ([name, check]) => [name, await runCheck(check)] as const),
  );
  return Object.fromEntries(entries);
}

/** A check that throws or hangs has failed. */
async function runCheck(check: () => Promise<HealthResult>): Promise<HealthResult> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<HealthResult>((resolve) => {
    timer = setTimeout(() => resolve({ ok: false, detail: `no answer within ${checkMs / 1000} s` }), checkMs);
  });
  try {
    return await Promise.race([check(), late]);
  } catch (error) {
    return { ok: false, detail: `failed (${causeOf(error)})` };
  } finally {
    clearTimeout(timer);
  }
}

/** Returns enough to find the error in the log. Messages are excluded: anyone can send requests, and messages name addresses and users. */
function causeOf(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string') return cause.code;
  }
  return error instanceof Error ? error.name : typeof error;
}
