import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { bodies } from '../../bench/events.ts';
import { proofKeys } from '../one-machine/service.ts';

export interface SoakLoad {
  /** Events that were acknowledged. */
  readonly events: number;
  readonly seconds: number;
  /** Sorted, ms: from when a request was due until its answer. */
  readonly latenciesMs: readonly number[];
  /** Answers 503, after which the same batch was sent again. */
  readonly refusals: number;
}

export interface SoakLoadOptions {
  readonly url: string;
  readonly seconds: number;
  /** Undefined: as many as are taken. */
  readonly eventsPerSecond?: number | undefined;
}

const eventsPerBody = 100;
const connections = 8;
const refusedMs = 200;
const shape = { events: eventsPerBody, people: 20_000, months: 1, historical: false, sets: true } as const;

/** Packed live batches, each made right before it is sent. Throws on any answer but 200 and 503. */
export async function sendFor({ url, seconds, eventsPerSecond }: SoakLoadOptions): Promise<SoakLoad> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const started = performance.now();
  const endMs = started + seconds * 1000;
  const everyMs = eventsPerSecond === undefined ? 0 : (eventsPerBody * 1000) / eventsPerSecond;
  const latenciesMs: number[] = [];
  let [next, refusals] = [0, 0];
  const connection = async (): Promise<void> => {
    for (;;) {
      const number = next++;
      const due = everyMs === 0 ? performance.now() : started + number * everyMs;
      if (due >= endMs) return;
      const earlyMs = due - performance.now();
      if (earlyMs > 0) await sleep(earlyMs);
      const [body = Buffer.alloc(0)] = bodies(proofKeys.project, 1, shape, number);
      while ((await post(agent, `${url}/batch/`, body)) === 'refused') {
        refusals += 1;
        await sleep(refusedMs);
      }
      latenciesMs.push(performance.now() - due);
    }
  };
  await Promise.all(Array.from({ length: connections }, connection));
  agent.destroy();
  return {
    events: latenciesMs.length * eventsPerBody,
    seconds: (performance.now() - started) / 1000,
    latenciesMs: latenciesMs.sort((a, b) => a - b),
    refusals,
  };
}

function post(agent: Agent, url: string, body: Buffer): Promise<'taken' | 'refused'> {
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip', 'content-length': body.length };
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method: 'POST', agent, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve('taken');
        else if (answer.statusCode === 503) resolve('refused');
        else reject(new Error(`expected 200, got: ${answer.statusCode} ${Buffer.concat(chunks).toString()}`));
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
