import type { StoreHealth, StoreReader } from './eventstore.ts';

/** A part of the table on this machine. */
interface ListedPart {
  readonly name: string;
  readonly path: string;
  /** Hash of its content: a restored store may reuse a name. */
  readonly hash: string;
  readonly bytes: string;
}

export interface DamagedFile {
  readonly part: string;
  readonly path: string;
  /** The engine's message. */
  readonly problem: string;
}

/** A cluster's servers check their own parts, and fetch a damaged one from another replica. */
const listSql = `SELECT name, path, hash_of_all_files AS hash, bytes_on_disk AS bytes FROM system.parts
WHERE database = currentDatabase() AND table = 'events' AND active AND engine = 'ReplacingMergeTree' ORDER BY name`;
const partName = /^\w+$/;

/**
 * Compares every byte of a part with the checksums that were written with it: columns, indexes, day ranges, counts. Returns undefined
 * if it is intact, or was merged into another part in the meantime.
 */
async function checkPart(store: StoreReader, { name, path }: ListedPart): Promise<DamagedFile | undefined> {
  if (!partName.test(name)) throw new TypeError(`expected the name of a part, got ${JSON.stringify(name)}`);
  const sql = `CHECK TABLE events PART '${name}' SETTINGS check_query_single_value_result = 0`;
  try {
    const rows = await store.query<{ is_passed: number; message: string }>(sql);
    const wrong = rows.find(({ is_passed: passed }) => Number(passed) !== 1);
    return wrong && { part: name, path, problem: wrong.message };
  } catch (error) {
    const isThere = (await store.query<ListedPart>(listSql)).some((part) => part.name === name);
    if (!isThere) return undefined;
    throw error;
  }
}

/** Reads all stored parts. `onPart` receives the bytes of each checked part. */
export async function findDamage(
  store: StoreReader,
  onPart: (bytes: number) => void = () => {},
): Promise<DamagedFile[]> {
  const found: DamagedFile[] = [];
  for (const part of await store.query<ListedPart>(listSql)) {
    const damage = await checkPart(store, part);
    if (damage !== undefined) found.push(damage);
    onPart(Number(part.bytes));
  }
  return found;
}

export function damageText(found: readonly DamagedFile[]): string {
  const [first] = found;
  if (first === undefined) return '';
  const more = found.length > 1 ? `, and ${found.length - 1} more parts` : '';
  return (
    `Stored events are damaged: ${first.path} (${first.problem.slice(0, 300)})${more}. ` +
    'Restore the event store from a backup, and check the disk.'
  );
}

export interface PartChecks {
  /** Checks the next parts. Rejects with errors of the store. */
  turn(): Promise<void>;
  /** Returns the damage found up to now. */
  health(): StoreHealth;
}

/** Checks each part once, in turns of about `turnBytes`: later damage is found after the next start, or by a backup. */
export function createPartChecks(store: StoreReader, { turnBytes }: { readonly turnBytes: number }): PartChecks {
  /** Results by name and content; `undefined` means intact. */
  let checked = new Map<string, DamagedFile | undefined>();
  return {
    async turn() {
      const parts = await store.query<ListedPart>(listSql);
      const next = new Map<string, DamagedFile | undefined>();
      let bytes = 0;
      for (const part of parts) {
        const key = `${part.name} ${part.hash}`;
        if (checked.has(key)) next.set(key, checked.get(key));
        else if (bytes < turnBytes) {
          next.set(key, await checkPart(store, part));
          bytes += Number(part.bytes);
        }
      }
      checked = next;
    },
    health() {
      const detail = damageText([...checked.values()].filter((damage) => damage !== undefined));
      return { ok: detail === '', detail };
    },
  };
}
