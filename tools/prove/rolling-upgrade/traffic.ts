/** Events of persons, sent until they are acknowledged, and what must be stored of them. */
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { createDraw, type Draw } from '../../../test/support/draw.ts';
import { clusterKeys } from '../cluster/process.ts';

export interface SentEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinctId: string;
  /** ISO 8601. */
  readonly timestamp: string;
  /** 19 digits. */
  readonly order: string;
  readonly historical: boolean;
}

/** What is expected of a person. */
export interface ExpectedPerson {
  readonly ids: readonly string[];
  /** The last value in the time of events; undefined if none was set. */
  readonly plan: string | undefined;
}

export interface Traffic {
  /** Events whose batch was answered 200, by uuid. */
  readonly acknowledged: ReadonlyMap<string, SentEvent>;
  /** Persons of acknowledged batches. */
  persons(): ExpectedPerson[];
  /** Batches that were sent again after a refusal or an error. */
  readonly repeated: number;
  /** The longest time from the first attempt to the acknowledgement of a batch, ms. */
  readonly waitedMsMax: number;
  /** Ends once the current batches are acknowledged. */
  stop(): Promise<void>;
}

export interface TrafficOptions {
  /** Of the load balancer. */
  readonly url: string;
  readonly seed: number;
  readonly senders: number;
  /** Pause of a sender between two batches, ms. */
  readonly pauseMs: number;
}

const personCount = 500;
const batchEvents = 20;
/** Every third sender sends history. */
const everyHistorical = 3;
const historyMs = Date.parse('2024-02-20T00:00:00Z');
const retryMs = 200;

interface Batch {
  readonly body: Buffer;
  readonly events: readonly PlannedEvent[];
}

interface PlannedEvent {
  readonly sent: SentEvent;
  /** The anonymous id that it links with its own. */
  readonly linked: string | undefined;
  /** Value that it sets. */
  readonly plan: string | undefined;
}

const userOf = (person: number): string => `user ${person} "ü"`;
const anonymousOf = (person: number, device: number): string => `anon-${person}-${device}'`;

export function startTraffic({ url, seed, senders, pauseMs }: TrafficOptions): Traffic {
  const acknowledged = new Map<string, SentEvent>();
  const book = createBook();
  const used = new Set<number>();
  const stopping = new AbortController();
  let [repeated, waitedMsMax, made] = [0, 0, 0];
  const work = async (number: number): Promise<void> => {
    const draw = createDraw(seed * 1000 + number);
    const historical = number % everyHistorical === everyHistorical - 1;
    while (!stopping.signal.aborted) {
      const batch = makeBatch(draw, { historical, used, next: () => (made += 1) });
      const began = performance.now();
      while (!(await isTaken(url, batch))) {
        repeated += 1;
        await delay(retryMs);
      }
      waitedMsMax = Math.max(waitedMsMax, performance.now() - began);
      for (const planned of batch.events) {
        acknowledged.set(planned.sent.uuid, planned.sent);
        book.record(planned);
      }
      await delay(pauseMs);
    }
  };
  const working = Promise.all(Array.from({ length: senders }, (_, number) => work(number)));
  working.catch(() => stopping.abort());
  return {
    acknowledged,
    persons: book.persons,
    get repeated() {
      return repeated;
    },
    get waitedMsMax() {
      return waitedMsMax;
    },
    stop: async () => {
      stopping.abort();
      await working;
    },
  };
}

/** The ids and values of persons, as the events say. */
function createBook() {
  const values = new Map<string, { plan: string | undefined; at: number }>();
  const userOfLinked = new Map<string, string>();
  const valueOf = (id: string) => {
    const known = values.get(id) ?? { plan: undefined, at: -Infinity };
    values.set(id, known);
    return known;
  };
  return {
    record: ({ sent, linked, plan }: PlannedEvent): void => {
      const value = valueOf(sent.distinctId);
      const at = Date.parse(sent.timestamp);
      if (plan !== undefined && at > value.at) Object.assign(value, { plan, at });
      if (linked === undefined) return;
      valueOf(linked);
      userOfLinked.set(linked, sent.distinctId);
    },
    persons: (): ExpectedPerson[] =>
      [...Map.groupBy(values, ([id]) => userOfLinked.get(id) ?? id).values()].map((all) => ({
        ids: all.map(([id]) => id).sort(),
        plan: all.reduce((last, each) => (each[1].at > last[1].at ? each : last))[1].plan,
      })),
  };
}

interface Planning {
  readonly historical: boolean;
  /** Times that are taken, ms: no two events have the same. */
  readonly used: Set<number>;
  readonly next: () => number;
}

/** Every sixth event links an anonymous id with its user. Times differ from the order of sending. */
function makeBatch(draw: Draw, planning: Planning): Batch {
  const events = Array.from({ length: batchEvents }, () => planEvent(draw, planning));
  const root = `{"api_key":"${clusterKeys.project}","historical_migration":${planning.historical},"batch":[${events.map(jsonOf).join()}]}`;
  return { body: gzipSync(root), events };
}

function planEvent(draw: Draw, { historical, used, next }: Planning): PlannedEvent {
  const n = next();
  const person = draw.int(personCount);
  const anonymous = anonymousOf(person, draw.int(3));
  const linked = draw.chance(1 / 6) ? anonymous : undefined;
  let at = historical ? historyMs + draw.int(1e9) * 20 : Date.now() - draw.int(1e8);
  while (used.has(at)) at -= 1;
  used.add(at);
  const sent = {
    uuid: draw.uuid(),
    event: linked === undefined ? draw.pick(['produkt gesehen – ü', 'bestellt "heute"', '$pageview']) : '$identify',
    distinctId: linked !== undefined || draw.chance(0.5) ? userOf(person) : anonymous,
    timestamp: new Date(at).toISOString(),
    order: `9${String(n).padStart(9, '0')}${String(draw.int(1e9)).padStart(9, '0')}`,
    historical,
  };
  return { sent, linked, plan: draw.chance(0.5) ? `plan "${n}" ö` : undefined };
}

/** As text, so that every digit is kept. */
function jsonOf({ sent, linked, plan }: PlannedEvent): string {
  const properties = [
    `"order":${sent.order}`,
    ...(linked === undefined ? [] : [`"$anon_distinct_id":${JSON.stringify(linked)}`]),
    ...(plan === undefined ? [] : [`"$set":${JSON.stringify({ plan })}`]),
  ];
  const { uuid, event, distinctId: distinct_id, timestamp } = sent;
  return `${JSON.stringify({ uuid, event, distinct_id, timestamp }).slice(0, -1)},"properties":{${properties.join()}}}`;
}

const answerMsMax = 30_000;

async function isTaken(url: string, { body }: Batch): Promise<boolean> {
  let answer: Response;
  try {
    answer = await fetch(`${url}/batch/`, {
      method: 'POST',
      body: body as Buffer<ArrayBuffer>,
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      signal: AbortSignal.timeout(answerMsMax),
    });
    await answer.arrayBuffer();
  } catch {
    // The load balancer reports what happened.
    return false;
  }
  if (answer.status >= 400 && answer.status < 500)
    throw new Error(`expected a batch to be taken, got: ${answer.status}`);
  return answer.status === 200;
}
