import { fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EventRowWriter } from '../../src/stores/events/rows.ts';
import { benchDataDir } from './server.ts';

export interface RawEvent {
  readonly event: string;
  readonly uuid: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly properties: object;
  readonly historical?: boolean;
}

const rowsPerFile = 100_000;

export interface RawInsert {
  readonly perCpuSecond: number;
  readonly perSecond: number;
}

/** The rows of a baseline, ready to be inserted any number of times. */
export interface RawRows {
  insert(): Promise<RawInsert>;
  remove(): void;
}

/** Baseline: the same rows inserted directly into the same table (door.ts). Fails if a row is missing or duplicated. */
export function prepareRawRows(events: Iterable<RawEvent>): RawRows {
  const dir = benchDataDir();
  const list = join(dir.path, 'files');
  const { files, rows } = rowFiles(dir.path, events);
  writeFileSync(list, files.join('\n'));
  return {
    insert: async () => {
      const child = fork(new URL('./door.ts', import.meta.url), [dir.path, list], { stdio: 'inherit' });
      const result = await new Promise<{ rows: number; wallSeconds: number; cpuSeconds: number }>((resolve, reject) => {
        child.once('message', (message) =>
          resolve(message as { rows: number; wallSeconds: number; cpuSeconds: number }),
        );
        child.once('exit', (code) => reject(new Error(`expected figures of the baseline, it ended with ${code}`)));
      });
      if (result.rows !== rows) throw new Error(`expected ${rows} rows, each once, got: ${result.rows}`);
      return { perCpuSecond: rows / result.cpuSeconds, perSecond: rows / result.wallSeconds };
    },
    remove: dir.remove,
  };
}

function rowFiles(dir: string, events: Iterable<RawEvent>): { files: string[]; rows: number } {
  const writer = new EventRowWriter();
  const files: string[] = [];
  let rows = 0;
  const flush = (): void => {
    const file = join(dir, `rows-${files.length}.native`);
    writeFileSync(file, Buffer.concat(writer.take().chunks));
    files.push(file);
  };
  for (const event of events) {
    const micros = Date.parse(event.timestamp) * 1000;
    writer.write({
      projectId: 1,
      historical: event.historical === true,
      receivedAtMicros: Date.now() * 1000,
      timestampMicros: micros,
      keyDay: Math.floor(micros / 86_400_000_000),
      uuid: event.uuid,
      event: event.event,
      distinctId: event.distinct_id,
      properties: JSON.stringify(event.properties),
    });
    rows += 1;
    if (writer.rows === rowsPerFile) flush();
  }
  if (writer.rows > 0) flush();
  return { files, rows };
}
