import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { setTimeout as delay } from 'node:timers/promises';
import { apiGet, projectKey, type TestServer } from './server.ts';

/** One event as the ledger knows it. */
export interface LedgerEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly historical: boolean;
}

interface LedgerBatch {
  readonly body: Buffer;
  readonly events: readonly LedgerEvent[];
}

/**
 * What was sent and what was acknowledged, kept outside of the server: the oracle of every crash test.
 * Batches without an answer are sent again later, byte for byte, as client libraries do.
 */
export class Ledger {
  readonly acknowledged = new Map<string, LedgerEvent>();
  readonly sent = new Map<string, LedgerEvent>();
  private unanswered: LedgerBatch[] = [];
  private made = 0;

  /** Sends batches over `connections`, each resting `pauseMs` after an answer, until the server dies or `signal` aborts. Refusals other than a dead server throw. */
  async sendUntilDown(
    server: Pick<TestServer, 'url'>,
    connections: number,
    signal: AbortSignal,
    pauseMs = 0,
  ): Promise<void> {
    const worker = async (): Promise<void> => {
      while (!signal.aborted) {
        const batch = this.unanswered.pop() ?? this.newBatch();
        const status = await this.send(server, batch);
        if (status === 'down') return;
        if (pauseMs > 0) await delay(pauseMs);
      }
    };
    await Promise.all(Array.from({ length: connections }, worker));
  }

  /** Sends again everything that has no answer yet; the server must be up. */
  async settle(server: Pick<TestServer, 'url'>): Promise<void> {
    for (const batch of this.unanswered.splice(0)) {
      const status = await this.send(server, batch);
      if (status === 'down') throw new Error('expected the server to stay up while the ledger settles');
    }
  }

  /**
   * Live and historical batches in turn; historical ones spread over 36 months. Half of both are so large that capture hands them on to the
   * pipeline in memory (src/wire/batch/scan-relay.ts), the others go through the log alone.
   */
  private newBatch(): LedgerBatch {
    const number = this.made++;
    const historical = number % 2 === 1;
    const text = 'x'.repeat(number % 4 < 2 ? 1000 : 0);
    const events = Array.from({ length: 20 }, (_, index) => ledgerEvent(number * 20 + index, historical));
    for (const event of events) this.sent.set(event.uuid, event);
    const batch = events.map(({ uuid, event, distinct_id, timestamp }, index) => ({
      uuid,
      event,
      distinct_id,
      timestamp,
      properties: { n: index, text, ...(index === 0 ? { $set: { last_batch: number } } : {}) },
    }));
    const root = { api_key: projectKey, batch, ...(historical ? { historical_migration: true } : {}) };
    return { body: gzipSync(JSON.stringify(root)), events };
  }

  private async send(server: Pick<TestServer, 'url'>, batch: LedgerBatch): Promise<'acknowledged' | 'down'> {
    let answer: Response;
    try {
      answer = await fetch(`${server.url}/batch/`, {
        method: 'POST',
        body: new Uint8Array(batch.body),
        headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      });
      await answer.arrayBuffer();
    } catch {
      // No answer: the batch may or may not be stored. It is sent again, unchanged.
      this.unanswered.push(batch);
      return 'down';
    }
    if (answer.status === 503) {
      this.unanswered.push(batch);
      return 'down';
    }
    if (answer.status !== 200) throw new Error(`expected 200 or 503 from /batch/, got: ${answer.status}`);
    for (const event of batch.events) this.acknowledged.set(event.uuid, event);
    return 'acknowledged';
  }
}

const firstDay = Date.UTC(2022, 0, 3);

function ledgerEvent(number: number, historical: boolean): LedgerEvent {
  const at = historical ? firstDay + (number % 1080) * 86_400_000 + number : Date.now();
  return {
    uuid: randomUUID(),
    event: historical ? 'was done' : 'is done',
    distinct_id: `person-${number % 50}`,
    timestamp: new Date(at).toISOString(),
    historical,
  };
}

interface EventPage {
  readonly next: string | null;
  readonly results: readonly {
    id: string;
    event: string;
    distinct_id: string;
    timestamp: string;
    historical_migration: boolean;
    properties: Record<string, unknown>;
  }[];
}

/** Every stored event of a project, page by page, as a user reads them. */
export async function readAllEvents(
  server: Pick<TestServer, 'url'>,
  project: string | number = '@current',
): Promise<EventPage['results'][number][]> {
  const all: EventPage['results'][number][] = [];
  let path: string | null = `/api/projects/${project}/events/?limit=1000`;
  while (path) {
    const page: EventPage = await apiGet<EventPage>(server, path);
    all.push(...page.results);
    path = page.next === null ? null : page.next.slice(new URL(page.next).origin.length);
  }
  return all;
}

/** Compares the store with the ledger: every acknowledged event once, none twice, nothing unknown. Returns what is wrong. */
export function compareWithLedger(
  ledger: Ledger,
  stored: readonly { id: string; event: string; distinct_id: string; historical_migration: boolean }[],
): string[] {
  const problems: string[] = [];
  const seen = new Set<string>();
  for (const row of stored) {
    if (seen.has(row.id)) problems.push(`stored twice: ${row.id}`);
    seen.add(row.id);
    const known = ledger.sent.get(row.id);
    if (!known) problems.push(`never sent: ${row.id}`);
    else if (known.historical !== row.historical_migration || known.distinct_id !== row.distinct_id) {
      problems.push(`stored differently: ${row.id}`);
    }
  }
  for (const uuid of ledger.acknowledged.keys()) if (!seen.has(uuid)) problems.push(`acknowledged and lost: ${uuid}`);
  return problems;
}
