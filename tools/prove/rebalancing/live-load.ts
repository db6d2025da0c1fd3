import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { slotOf } from '../../../src/log/slot-of.ts';
import { stormKeys } from '../cluster-storm/cluster.ts';

const projectsMax = 2000;
const eventsPerRequest = 5;
const inFlightMax = 200;
const answerMs = 30_000;
const retryMs = 200;

export interface LoadedProject {
  readonly id: number;
  readonly key: string;
}

/** Creates projects until every slot has one. */
export async function createProjects(apiUrl: string, slots: number): Promise<readonly LoadedProject[]> {
  const bySlot = new Map<number, LoadedProject>();
  for (let made = 0; bySlot.size < slots; made += 1) {
    if (made === projectsMax) throw new Error(`expected a project for each slot among ${made}, got ${bySlot.size}`);
    const answer = await fetch(`${apiUrl}/api/projects/`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stormKeys.personal}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'rebalancing' }),
    });
    if (!answer.ok) throw new Error(`expected a project, got: ${answer.status} ${await answer.text()}`);
    const { id, api_token: key } = (await answer.json()) as { id: number; api_token: string };
    bySlot.set(slotOf(id, slots), { id, key });
  }
  return [...bySlot.values()];
}

export interface SentEvent {
  readonly project: number;
  readonly distinctId: string;
  readonly number: number;
}

export interface LiveLoad {
  /** Every event that was acknowledged, by uuid. */
  readonly sent: ReadonlyMap<string, SentEvent>;
  /** Events of requests that were sent again, whose records may be in the log twice. */
  readonly repeated: ReadonlySet<string>;
  /** Resolves once everything is acknowledged. */
  stop(): Promise<void>;
}

/** Sends requests at a steady rate to the projects in turn, each until it is acknowledged. */
export function startLoad(captureUrl: string, projects: readonly LoadedProject[], requestsPerSecond: number): LiveLoad {
  const sent = new Map<string, SentEvent>();
  const repeated = new Set<string>();
  const inFlight = new Set<Promise<void>>();
  const over = new AbortController();
  let made = 0;

  const send = async (project: LoadedProject): Promise<void> => {
    const first = made * eventsPerRequest;
    const events = Array.from({ length: eventsPerRequest }, (_, at) => ({
      uuid: randomUUID(),
      distinctId: `"Ünï" ${(first + at) % 97} 9007199254740993`,
      number: first + at,
    }));
    const batch = events.map(({ uuid, distinctId, number }) => ({
      uuid,
      event: 'moved',
      distinct_id: distinctId,
      timestamp: new Date().toISOString(),
      properties: { number, $set: { last: number } },
    }));
    const body = JSON.stringify({ api_key: project.key, batch });
    for (let attempt = 0; !(await isTaken(captureUrl, body)); attempt += 1) {
      for (const { uuid } of events) repeated.add(uuid);
      await sleep(retryMs);
    }
    for (const { uuid, distinctId, number } of events) sent.set(uuid, { project: project.id, distinctId, number });
  };
  const sending = (async () => {
    for (const began = performance.now(); !over.signal.aborted;) {
      const due = ((performance.now() - began) / 1000) * requestsPerSecond;
      while (made < due && inFlight.size < inFlightMax) {
        const project = projects[made % projects.length];
        if (project === undefined) throw new Error('expected a project');
        const one = send(project).finally(() => inFlight.delete(one));
        inFlight.add(one);
        made += 1;
      }
      await sleep(20);
    }
    await Promise.all(inFlight);
  })();
  return {
    sent,
    repeated,
    stop: async () => {
      over.abort();
      await sending;
    },
  };
}

async function isTaken(url: string, body: string): Promise<boolean> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}/batch/`, {
    method: 'POST',
    body,
    headers,
    signal: AbortSignal.timeout(answerMs),
  }).catch(() => undefined);
  if (answer === undefined) return false;
  const text = await answer.text();
  if (answer.status < 500 && answer.status !== 200)
    throw new Error(`expected 200 or 5xx, got: ${answer.status} ${text}`);
  return answer.status === 200;
}
