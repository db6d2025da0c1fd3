import { setTimeout as sleep } from 'node:timers/promises';
import type { DeleteWatch } from './eventstore.ts';

export interface ReplacedParts {
  /** Lists names of parts that were replaced and still have files. */
  list(): Promise<readonly string[]>;
  /** Makes the engine remove them if it would otherwise wait for the next insert. */
  nudge(): Promise<void>;
  readonly pollMs?: number;
  /** Which server it is, for the reason. */
  readonly where?: string;
}

const pollMsDefault = 250;

/**
 * Resolves once the files of all parts that are replaced at the time of the call are removed. An embedded engine needs seconds; a server
 * keeps replaced parts for eight minutes (`old_parts_lifetime`).
 */
export async function waitForRemoval(parts: ReplacedParts, { signal, onWait }: DeleteWatch = {}): Promise<void> {
  const { pollMs = pollMsDefault, where = 'the event store' } = parts;
  let waitedFor = new Set(await parts.list());
  while (waitedFor.size > 0) {
    await sleep(pollMs, undefined, { signal });
    await parts.nudge();
    const existing = new Set(await parts.list());
    waitedFor = waitedFor.intersection(existing);
    if (waitedFor.size > 0) onWait?.(`${where} still has files of ${waitedFor.size} replaced parts`);
  }
}
