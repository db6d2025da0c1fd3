/** What a storm's service has stored, read as users read it; what its transformation keeps is read from the file of the metadata. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { StoredEvent } from './ledger.ts';
import type { ShownPerson } from './persons.ts';
import type { ProofService } from '../one-machine/service.ts';

const project = '/api/projects/@current';
const dayMs = 86_400_000;
const pageSize = 1000;

/** Events of these days, each as often as it is stored. */
export async function eventsOfDays(service: ProofService, days: readonly number[]): Promise<StoredEvent[]> {
  const all: StoredEvent[] = [];
  for (const day of days) {
    const [after, before] = [new Date(day), new Date(day + dayMs)].map((time) => time.toISOString());
    all.push(
      ...(await pages<StoredEvent>(service, `${project}/events/?limit=${pageSize}&after=${after}&before=${before}`)),
    );
  }
  return all;
}

export function allEvents(service: ProofService): Promise<StoredEvent[]> {
  return pages(service, `${project}/events/?limit=${pageSize}`);
}

export function allPersons(service: ProofService): Promise<ShownPerson[]> {
  return pages(service, `${project}/persons/?limit=${pageSize}`);
}

/** What the transformation keeps under a key: how many events of each batch it has seen. */
export function keptCounts(service: ProofService, key: string): Record<string, number> {
  const file = new DatabaseSync(join(service.dataDir, 'metadata.sqlite'), { readOnly: true });
  try {
    const row = file.prepare('SELECT value FROM plugin_storage WHERE key = ?').get(key);
    return row === undefined ? {} : (JSON.parse(String(row['value'])) as Record<string, number>);
  } finally {
    file.close();
  }
}

async function pages<T>(service: ProofService, first: string): Promise<T[]> {
  const all: T[] = [];
  for (let path: string | null = first; path !== null;) {
    const page: { next: string | null; results: readonly T[] } = await service.call('GET', path);
    all.push(...page.results);
    path = page.next === null ? null : page.next.slice(new URL(page.next).origin.length);
  }
  return all;
}
