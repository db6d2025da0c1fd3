import { isoOfMicros } from '../events/micros.ts';
import type { StoreReader } from '../events/eventstore.ts';
import type { Metadata } from '../metadata/database.ts';
import { groupsAfter, personsAfter, type GroupPlace } from '../../pipeline/persons/profile-pages.ts';
import { personsByDistinctIds } from '../../pipeline/persons/read-persons.ts';
import type { Column, Row } from './columns.ts';
import { planPart, readPage, type EventPlace, type EventRecord, type ExportedEvents } from './event-pages.ts';
import { eventColumns, eventRow, posthogEventColumns, posthogEventRow } from './event-rows.ts';
import type { ExportShape, ExportTableName } from '../../wire/contract/exports.ts';
import {
  groupColumns,
  groupRow,
  personColumns,
  personRow,
  posthogGroupColumns,
  posthogGroupRow,
  posthogPersonColumns,
  posthogPersonRows,
} from './profile-rows.ts';

/** A table of an export, as a sequence of parts. */
export interface ExportTable {
  readonly columns: readonly Column[];
  /** @param after the `upTo` of the part before. Returns `undefined` after the last part */
  next(after: unknown): Promise<TablePart | undefined>;
}

export interface TablePart {
  /** Where it ends, in a form that JSON keeps. */
  readonly upTo: unknown;
  pages(): AsyncIterable<TablePage>;
}

export interface TablePage {
  readonly rows: readonly Row[];
  readonly first: string;
  readonly last: string;
  /** Of events: name and time of each. */
  readonly events?: readonly { readonly name: string; readonly micros: bigint }[];
}

export interface TableDeps {
  readonly store: StoreReader;
  readonly db: Metadata;
  readonly events: ExportedEvents;
  readonly shape: ExportShape;
  readonly rowsPerPart: number;
}

/** Of the properties of a part, before compression. */
const partBytes = 128 * 1024 * 1024;
const profilesPerPage = 500;

export function exportTable(name: ExportTableName, deps: TableDeps): ExportTable {
  if (name === 'events') return eventTable(deps);
  return name === 'persons' ? personTable(deps) : groupTable(deps);
}

function eventTable({ store, db, events, shape, rowsPerPart }: TableDeps): ExportTable {
  const rowsOf = async (page: readonly EventRecord[]): Promise<readonly Row[]> => {
    if (shape === 'millrace') return page.map(eventRow);
    const persons = await personsByDistinctIds(
      db,
      events.projectId,
      page.map((event) => event.distinct_id),
    );
    return page.map((event) => posthogEventRow(event, persons.get(event.distinct_id)));
  };
  return {
    columns: shape === 'millrace' ? eventColumns : posthogEventColumns,
    next: async (given) => {
      const after = given as EventPlace | undefined;
      const ends = await planPart(store, events, after, { rows: rowsPerPart, bytes: partBytes });
      const end = ends.at(-1);
      if (end === undefined) return undefined;
      const { n: _, ...upTo } = end;
      return {
        upTo,
        async *pages() {
          let from = after;
          for (const to of ends) {
            const page = await readPage(store, events, from, to);
            from = to;
            const [first, last] = [page[0], page.at(-1)];
            // Events that were deleted since the part was planned.
            if (first === undefined || last === undefined) continue;
            yield {
              rows: await rowsOf(page),
              first: first.uuid_text,
              last: last.uuid_text,
              events: page.map(({ name, micros }) => ({ name, micros: BigInt(micros) })),
            };
          }
        },
      };
    },
  };
}

function personTable({ db, events: { projectId }, shape, rowsPerPart }: TableDeps): ExportTable {
  return profileTable({
    columns: shape === 'millrace' ? personColumns : posthogPersonColumns,
    rowsPerPart,
    read: (after: string | undefined, limit) => personsAfter(db, projectId, after ?? '', limit),
    placeOf: ({ uuid }) => uuid,
    nameOf: ({ uuid }) => uuid,
    rowsOf: (person) => (shape === 'millrace' ? [personRow(person)] : posthogPersonRows(projectId, person)),
  });
}

function groupTable({ db, events: { projectId }, shape, rowsPerPart }: TableDeps): ExportTable {
  return profileTable({
    columns: shape === 'millrace' ? groupColumns : posthogGroupColumns,
    rowsPerPart,
    read: (after: GroupPlace | undefined, limit) => groupsAfter(db, projectId, after, limit),
    placeOf: ({ typeIndex, key }) => ({ typeIndex, key }),
    nameOf: ({ type, key }) => `${type}/${key}`,
    rowsOf: (group) => [shape === 'millrace' ? groupRow(group) : posthogGroupRow(projectId, group)],
  });
}

interface ProfileTable<Item, Place> {
  readonly columns: readonly Column[];
  readonly rowsPerPart: number;
  readonly read: (after: Place | undefined, limit: number) => Promise<readonly Item[]>;
  readonly placeOf: (item: Item) => Place;
  readonly nameOf: (item: Item) => string;
  readonly rowsOf: (item: Item) => readonly Row[];
}

/** The end of a part is only known once it is read. */
function profileTable<Item, Place>(of: ProfileTable<Item, Place>): ExportTable {
  const { columns, rowsPerPart, read, placeOf, nameOf, rowsOf } = of;
  return {
    columns,
    next: async (after) => {
      let page = await read(after as Place | undefined, Math.min(profilesPerPage, rowsPerPart));
      let last = page.at(-1);
      if (last === undefined) return undefined;
      const end = { upTo: placeOf(last) };
      return {
        get upTo() {
          return end.upTo;
        },
        async *pages() {
          for (let left = rowsPerPart; last !== undefined && page.length > 0;) {
            left -= page.length;
            end.upTo = placeOf(last);
            yield { rows: page.flatMap(rowsOf), first: nameOf(page[0] as Item), last: nameOf(last) };
            if (left <= 0) return;
            page = await read(end.upTo, Math.min(profilesPerPage, left));
            last = page.at(-1);
          }
        },
      };
    },
  };
}

/** Collects what the manifest says of a part. */
export function createPartNotes() {
  let [rows, first, last] = [0, '', ''];
  let from: bigint | undefined;
  let to: bigint | undefined;
  const names = new Map<string, number>();
  return {
    names,
    async *noting(pages: AsyncIterable<TablePage>): AsyncGenerator<readonly Row[]> {
      for await (const page of pages) {
        if (rows === 0) first = page.first;
        rows += page.rows.length;
        last = page.last;
        for (const { name, micros } of page.events ?? []) {
          names.set(name, (names.get(name) ?? 0) + 1);
          if (from === undefined || micros < from) from = micros;
          if (to === undefined || micros > to) to = micros;
        }
        yield page.rows;
      }
    },
    found: () => ({
      rows,
      first,
      last,
      ...(from !== undefined && { from: isoOfMicros(from) }),
      ...(to !== undefined && { to: isoOfMicros(to) }),
    }),
  };
}
