import { countLines } from '../../../base/count-lines.ts';
import { isPlaceholderId } from '../../../base/placeholder-ids.ts';
import { parseExact } from '../../../base/exact-json.ts';
import type { JsonObject } from '../../../base/json.ts';
import { otherIdIn } from '../../../wire/batch/other-id.ts';
import { mergeEvents } from '../../../wire/contract/profile-events.ts';
import { pairsMax, sliceWidth } from '../../../stores/events/run-facts.ts';
import { runTableNamed, type FactsOf } from '../../../stores/events/run-table-reads.ts';
import { isLoaded, type StoredDay } from '../../run/import-day.ts';
import { readStore } from '../../targets/read-store.ts';
import { TargetWaitError, type TableTarget } from '../../target.ts';
import { batchBytesMax, batchOf, piecesOf } from './event-texts.ts';
import { type Load, noFacts } from './load.ts';
import { readGroupFacts } from './read-table.ts';
import { crc32 } from 'node:zlib';
import { createFirstValues } from '../check/rows/first-values.ts';

/**
 * Delivers what attached months contain about groups and persons. Groups are updated in the order of time, which numbers their types.
 * Persons are updated component by component (run-facts.ts), each in the order of time, so that each is read and written once. All of it
 * may be repeated.
 */
export async function deliverFacts(
  load: Load,
  tables: TableTarget,
  daysOf: ReadonlyMap<number, readonly StoredDay[]>,
): Promise<void> {
  const { check, pending, progress, leased, failpoint, signal, retry } = load;
  const { months, slicesDone } = pending.current;
  if (months.length === 0) return;
  // Some of them are completed with each slice, to show progress.
  const days = months.flatMap((month) => daysOf.get(month) ?? []).filter((day) => !isLoaded(day));
  // Facts were written before duplicates were known: if those differ from the events that are loaded, the events are read.
  const of: FactsOf = { from: (check.changed_duplicates ?? 0) > 0 ? 'rows' : 'facts', months };
  if (slicesDone === 0) {
    for await (const facts of readGroupFacts(load, of)) {
      for (const { piece } of piecesOf(facts)) await retry(() => tables.deliverFacts('groups', batchOf(piece), signal));
    }
  }
  const counts = await orderFacts(load, of);
  for (let slice = slicesDone; slice < counts.length; slice += 1) {
    for await (const facts of readSlice(load, counts, slice)) {
      await retry(() => tables.deliverFacts('persons', facts, signal));
      failpoint('import_facts_delivered');
    }
    await pending.save({ months, slicesDone: slice + 1 });
    progress.slice();
    await leased.flush();
    failpoint('import_load_delivered');
    await saveDays(load, days.splice(0, Math.floor(days.length / (counts.length - slice))));
  }
  await saveDays(load, days);
  await pending.save(noFacts);
}

async function saveDays({ save, failpoint }: Load, days: readonly StoredDay[]): Promise<void> {
  for (const day of days) {
    await save(day, { framesLoaded: day.frames, accepted: day.events, rejected: 0 });
    failpoint('import_load_committed');
  }
}

/** Sorts the facts and returns how many each slice has, which is the same at every call. */
async function orderFacts(load: Load, of: FactsOf): Promise<readonly number[]> {
  const { runStore, ref, retry, sliceFacts } = load;
  const components = await readComponents(load, of);
  await retry(() =>
    readStore(() => runStore.runTables.orderFacts(ref, { ...of, components: components.pairs(pairsMax) })),
  );
  await retry(() => readStore(() => runStore.waitForReplicas(ref)));
  const partitions = await retry(() => readStore(() => runStore.runTables.partitions(ref, of.from)));
  const facts = partitions.reduce((sum, { month, rows }) => sum + (of.months.includes(month) ? rows : 0), 0);
  const slices = Math.max(1, Math.ceil(facts / sliceFacts));
  return await retry(() => readStore(() => runStore.runTables.countOrderedFacts(ref, slices)));
}

async function readComponents({ runStore, ref, retry }: Load, of: FactsOf): Promise<Components> {
  const components = createComponents();
  for (let page: number | undefined = 0; page !== undefined;) {
    const named: { names: string[]; page: number } = { names: [...mergeEvents], page };
    const { events, next } = await retry(() => readStore(() => runTableNamed(runStore, ref, of, named)));
    page = next;
    for (const { event, distinct_id: id, properties } of events) {
      // The check wrote an object.
      const other = otherIdIn(event, parseExact(properties) as JsonObject);
      // Placeholder ids are never merged.
      if (other !== undefined && !isPlaceholderId(id) && !isPlaceholderId(other)) components.unite(id, other);
    }
  }
  return components;
}

interface FactLines {
  /** Without a trailing newline. */
  readonly lines: Buffer;
  readonly events: number;
}

/** Reads the next page while one is processed. */
async function* readSlice(load: Load, counts: readonly number[], slice: number): AsyncGenerator<FactLines> {
  const { runStore, ref, retry, sliceFacts } = load;
  const width = sliceWidth(counts.length);
  const facts = counts[slice] ?? 0;
  const read = (offset: number): Promise<Buffer> => {
    const limit = Math.min(sliceFacts, facts - offset);
    const at = { from: slice * width, to: (slice + 1) * width, limit, offset };
    const page = retry(() =>
      readStore(async () => {
        const lines = await runStore.runTables.orderedFacts(ref, at);
        const found = countLines(lines);
        if (found === limit) return lines;
        throw new TargetWaitError(`expected ${limit} sorted facts of the run in the event store, got ${found}`);
      }),
    );
    // It is awaited later, or never if the load ends earlier.
    page.catch(() => undefined);
    return page;
  };
  let ahead = facts === 0 ? undefined : read(0);
  for (let offset = 0; ahead !== undefined;) {
    const page: Buffer = await ahead;
    offset += sliceFacts;
    ahead = offset < facts ? read(offset) : undefined;
    yield* linePieces(page);
  }
}

const newline = 0x0a;

/** Divides lines that each end with a newline. A piece exceeds `batchBytesMax` only if a single line does. */
function* linePieces(lines: Buffer): Generator<FactLines> {
  let [from, events, end] = [0, 0, 0];
  for (let at = 0; at < lines.length; at = end + 1) {
    end = lines.indexOf(newline, at);
    if (at > from && end - from > batchBytesMax) {
      yield { lines: lines.subarray(from, at - 1), events };
      [from, events] = [at, 0];
    }
    events += 1;
  }
  if (events > 0) yield { lines: lines.subarray(from, lines.length - 1), events };
}

/** Ids that merges link, directly or through others, by their CRC-32; about 40 bytes per id. */
interface Components {
  unite(one: string, other: string): void;
  /** Yields pairs of an id's CRC-32 and its component, from 1 on: the smallest CRC-32 in it, independent of the order of `unite`. */
  pairs(pairsMax: number): Generator<Uint32Array>;
}

export function createComponents(): Components {
  const numbers = createFirstValues(Infinity);
  let hashes = new Uint32Array(1024);
  let parents = new Uint32Array(1024);
  let size = 0;

  const numberOf = (id: string): number => {
    const hash = crc32(id);
    const number = numbers.firstOf(hash, 1, size) as number;
    if (number < size) return number;
    if (size === hashes.length) [hashes, parents] = [doubled(hashes), doubled(parents)];
    hashes[size] = hash;
    parents[size] = size;
    size += 1;
    return number;
  };
  const rootOf = (number: number): number => {
    let at = number;
    for (let parent = parents[at] as number; parent !== at; parent = parents[at] as number) {
      at = parents[at] = parents[parent] as number;
    }
    return at;
  };

  return {
    unite: (one, other) => {
      const [first, second] = [rootOf(numberOf(one)), rootOf(numberOf(other))];
      if ((hashes[first] as number) < (hashes[second] as number)) parents[second] = first;
      else parents[first] = second;
    },
    *pairs(pairsMax) {
      for (let from = 0; from < size; from += pairsMax) {
        const count = Math.min(pairsMax, size - from);
        const pairs = new Uint32Array(2 * count);
        for (let at = 0; at < count; at += 1) {
          pairs[2 * at] = hashes[from + at] as number;
          pairs[2 * at + 1] = (hashes[rootOf(from + at)] as number) || 1;
        }
        yield pairs;
      }
    },
  };
}

function doubled(words: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const more = new Uint32Array(2 * words.length);
  more.set(words);
  return more;
}
