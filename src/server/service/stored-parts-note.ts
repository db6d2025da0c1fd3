import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StoreReader } from '../../stores/events/eventstore.ts';
import { missingParts, missingText, notedParts, type NotedPart } from '../../stores/events/noted-parts.ts';

/** The parts of the event store when the service stopped, and those that it has missed before. */
export interface StoredPartsNote {
  /** Compares what is there with the note; what is missing stays in it. Gives the sentence for an operator, or ''. */
  compare(): Promise<string>;
  /** To be called when no more events are written. A service that was killed leaves no note of its parts. */
  write(): Promise<void>;
}

export function createStoredPartsNote(dataDir: string, store: StoreReader): StoredPartsNote {
  const file = join(dataDir, 'stored-parts.json');
  let missing: readonly NotedPart[] = [];
  const save = (parts: readonly NotedPart[]): void => {
    writeFileSync(`${file}.new`, JSON.stringify(parts));
    renameSync(`${file}.new`, file);
  };
  return {
    async compare() {
      if (!existsSync(file)) return '';
      missing = await missingParts(store, JSON.parse(readFileSync(file, 'utf8')) as NotedPart[]);
      save(missing);
      return missingText(missing, file);
    },
    async write() {
      // Removing the file accepts the loss.
      const stillMissing = existsSync(file) ? missing : [];
      save([...stillMissing, ...(await notedParts(store))]);
    },
  };
}
