/**
 * What was sent and what was acknowledged, kept outside of the service, and the comparison with what it has stored. Of events that
 * were compared once a fingerprint is kept, so that a storm of any length can be compared once more as a whole.
 */
import { createHash } from 'node:crypto';
import type { StormEvent } from './events.ts';
import { PersonOracle } from './persons.ts';

export interface StormBatch {
  readonly number: number;
  readonly isHistorical: boolean;
  readonly events: readonly StormEvent[];
}

/** An event as the API shows it. */
export interface StoredEvent {
  readonly id: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly historical_migration: boolean;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** How often each batch may lie in the log: once, and once more for each time that its sender was not answered. */
interface Sending {
  readonly events: number;
  unanswered: number;
}

/** What the service, the import and the storm's own transformation write into an event. */
const added: ReadonlySet<string> = new Set([
  '$ip',
  '$plugins_succeeded',
  '$plugins_failed',
  '$import_run_id',
  '$import_source',
  '$geoip_disable',
  'marked',
]);

export class StormLedger {
  readonly persons = new PersonOracle();
  readonly counts = { standard: 0, historical: 0 };
  /** Imports that are done, and requests without an answer. */
  readonly seen = { imports: 0, unanswered: 0 };
  /** uuid → fingerprint, of every event that was acknowledged. */
  readonly acknowledged = new Map<string, string>();
  /** The batches of the epoch, by number. */
  #sendings = new Map<number, Sending>();
  /** What events of the epoch look like, to show them. */
  #lines = new Map<string, string>();
  #epochIds = new Set<string>();

  /** A batch was sent and its sender got no answer: it may lie in the log. */
  noteUnanswered(batch: StormBatch): void {
    this.#sending(batch).unanswered += 1;
    this.seen.unanswered += 1;
  }

  noteAcknowledged(batch: StormBatch): void {
    this.#sending(batch);
    this.#take(batch.events, batch.isHistorical);
  }

  noteImported(events: readonly StormEvent[]): void {
    this.#take(events, true);
    this.seen.imports += 1;
  }

  /** The events up to now were compared: the following ones are a separate epoch. */
  endEpoch(): void {
    this.#sendings = new Map();
    this.#lines = new Map();
    this.#epochIds = new Set();
  }

  /** Ids of the events that were acknowledged in this epoch. */
  get epochIds(): ReadonlySet<string> {
    return this.#epochIds;
  }

  /** `ids`: the events that must be there, each once, as they were sent, and no others. Returns what is wrong. */
  differencesOfEvents(ids: Iterable<string>, stored: readonly StoredEvent[]): string[] {
    const wrong: string[] = [];
    const missing = new Set(ids);
    const seen = new Set<string>();
    for (const row of stored) {
      if (seen.has(row.id)) wrong.push(`stored twice: ${storedLine(row)}`);
      seen.add(row.id);
      const expected = this.acknowledged.get(row.id);
      if (expected === undefined) wrong.push(`never acknowledged: ${storedLine(row)}`);
      else if (expected !== fingerprint(storedLine(row))) wrong.push(`stored otherwise: ${this.#both(row)}`);
      missing.delete(row.id);
    }
    for (const id of missing) wrong.push(`acknowledged and lost: ${this.#lines.get(id) ?? id}`);
    return [...wrong, ...stored.flatMap(faultOfTransformation)];
  }

  /** What the transformation has counted of each batch of the epoch, against how often the batch may lie in the log. */
  differencesOfCounts(counted: Readonly<Record<string, number>>): string[] {
    const wrong: string[] = [];
    for (const [number, { events, unanswered }] of this.#sendings) {
      const times = (counted[number] ?? 0) / events;
      if (Number.isInteger(times) && times >= 1 && times <= 1 + unanswered) continue;
      const allowed = unanswered === 0 ? `${events}` : `${events} times 1 to ${1 + unanswered}`;
      wrong.push(`storage of the transformation: batch ${number} counted ${counted[number] ?? 0}, expected ${allowed}`);
    }
    const unknown = Object.keys(counted).filter((number) => !this.#sendings.has(Number(number)));
    return [...wrong, ...unknown.map((number) => `storage of the transformation: unknown batch ${number}`)];
  }

  #sending({ number, events }: StormBatch): Sending {
    const known = this.#sendings.get(number) ?? { events: events.length, unanswered: 0 };
    this.#sendings.set(number, known);
    return known;
  }

  #take(events: readonly StormEvent[], isHistorical: boolean): void {
    this.counts[isHistorical ? 'historical' : 'standard'] += events.length;
    for (const event of events) {
      const line = sentLine(event, isHistorical);
      this.acknowledged.set(event.uuid, fingerprint(line));
      this.#lines.set(event.uuid, line);
      this.#epochIds.add(event.uuid);
      this.persons.learn(event);
    }
  }

  #both(row: StoredEvent): string {
    return `${storedLine(row)}, expected: ${this.#lines.get(row.id) ?? 'another content'}`;
  }
}

/** Lines that are in one of them only. */
export function differencesOfLines(what: string, expected: readonly string[], got: readonly string[]): string[] {
  const wanted = new Set(expected);
  const found = new Set(got);
  return [
    ...expected.filter((line) => !found.has(line)).map((line) => `${what} expected and not there: ${line}`),
    ...got.filter((line) => !wanted.has(line)).map((line) => `${what} not expected: ${line}`),
    ...(got.length === found.size ? [] : [`${what}: ${got.length - found.size} are there twice`]),
  ];
}

function faultOfTransformation({ id, properties }: StoredEvent): string[] {
  const failed = properties['$plugins_failed'];
  const isWhole = properties['marked'] === true && Array.isArray(failed) && failed.length === 0;
  return isWhole ? [] : [`not transformed: ${id} ${JSON.stringify(failed)}`];
}

function sentLine({ uuid, event, distinct_id, timestamp, properties }: StormEvent, isHistorical: boolean): string {
  return line(uuid, event, distinct_id, timestamp, isHistorical, properties);
}

function storedLine({ id, event, distinct_id, timestamp, historical_migration, properties }: StoredEvent): string {
  const own = Object.entries(properties).filter(([key]) => !added.has(key));
  return line(id, event, distinct_id, timestamp, historical_migration, Object.fromEntries(own));
}

function line(
  id: string,
  event: string,
  distinctId: string,
  timestamp: string,
  isHistorical: boolean,
  properties: object,
): string {
  const sorted = Object.entries(properties).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([id, event, distinctId, Date.parse(timestamp), isHistorical, sorted]);
}

/** Short enough to keep of millions of events. */
function fingerprint(text: string): string {
  return createHash('sha256').update(text).digest('base64').slice(0, 12);
}
