import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-guide-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export interface Sent {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** What an import may not change. A link of two ids stands at their first event, wherever the reader wrote it. */
export function sorted(events: readonly Sent[]): string[] {
  const lines = events.map(({ uuid, event, distinct_id, timestamp, properties }) => {
    const { $import_run_id: _, ...own } = properties;
    const time = event === '$identify' ? undefined : Date.parse(timestamp);
    return JSON.stringify([uuid, event, distinct_id, time, Object.entries(own).toSorted()]);
  });
  return lines.toSorted();
}
