import type { Command } from 'commander';
import type { Static } from 'typebox';
import { canonicalUuid } from '../../base/uuids.ts';
import type { eventSchema } from '../../wire/contract/events.ts';
import type { PersonRecord } from '../../wire/contract/persons.ts';
import { addApiOptions, listUpTo, projectApi, type ApiOptions, type ProjectApi } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import { showFields, showList, showRecord, showTable } from '../output.ts';
import { countOf } from '../read-arguments.ts';
import type { Terminal } from '../terminal.ts';

interface Options extends ApiOptions {
  readonly search?: string;
  readonly email?: string;
  readonly limit: string;
}

const idsShown = 3;

export function personsCommand(parent: Command, terminal: Terminal): void {
  const persons = parent.command('persons');

  addApiOptions(persons.command('list'))
    .option('--search <text>', 'only persons with an id that starts with this, or with this uuid or email')
    .option('--email <address>', 'only persons with exactly this email property')
    .option('--limit <number>', 'number of persons', '20')
    .description('list persons, newest first')
    .action(async ({ search, email, ...options }: Options) => {
      const api = projectApi(options);
      const max = countOf('--limit', options.limit, 1);
      const found = await listUpTo<PersonRecord>(api, `${api.root}/persons/`, { search, email }, max);
      await showList(terminal, options, found, () =>
        showTable(terminal, found, {
          UUID: ({ uuid }) => uuid,
          NAME: ({ name }) => name,
          IDENTIFIED: (person) => (person.is_identified ? 'yes' : 'no'),
          'FIRST SEEN': ({ created_at }) => created_at,
          IDS: ({ distinct_ids: ids }) =>
            ids.slice(0, idsShown).join(', ') + (ids.length > idsShown ? ` and ${ids.length - idsShown} more` : ''),
        }),
      );
    });

  addApiOptions(persons.command('show'))
    .argument('<person>', 'uuid, or one of the distinct_ids')
    .description('show a person: ids and properties')
    .action(async (name: string, options: Options) => {
      const person = await findPerson(projectApi(options), name);
      await showRecord(terminal, options, person, () => showPerson(terminal, person));
    });

  addApiOptions(persons.command('merge-history'))
    .argument('<person>', 'uuid, or one of the distinct_ids')
    .option('--limit <number>', 'number of events of each kind to read, newest first', '1000')
    .description('list the events that merged the ids of a person, oldest first')
    .action(async (name: string, options: Options) => {
      const api = projectApi(options);
      const person = await findPerson(api, name);
      const merges = await mergesOf(api, person, countOf('--limit', options.limit, 1));
      await showList(terminal, options, merges, () =>
        showTable(terminal, merges, {
          TIME: ({ timestamp }) => timestamp,
          EVENT: ({ event }) => event,
          'DISTINCT ID': (merge) => merge.distinct_id,
          'OTHER ID': (merge) => merge.other_distinct_id,
          'ONE PERSON': (merge) => (merge.is_merged ? 'yes' : 'no'),
          'EVENT ID': (merge) => merge.event_id,
        }),
      );
    });
}

/** An event that links two ids to one person. */
interface Merge {
  readonly timestamp: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly other_distinct_id: string;
  /** False when the merge was refused, which an ingestion warning reports. */
  readonly is_merged: boolean;
  readonly event_id: string;
}

type MergingEvent = Static<typeof eventSchema>;

/** Events that merge persons, and the property with the other id. */
const mergingEvents = { $identify: '$anon_distinct_id', $create_alias: 'alias', $merge_dangerously: 'alias' } as const;

async function mergesOf(api: ProjectApi, { uuid, distinct_ids: ids }: PersonRecord, max: number): Promise<Merge[]> {
  const merges: Merge[] = [];
  for (const [event, property] of Object.entries(mergingEvents)) {
    const query = { person_id: uuid, event };
    for (const found of await listUpTo<MergingEvent>(api, `${api.root}/events/`, query, max)) {
      const other = found.properties[property];
      if (typeof other !== 'string' || other === found.distinct_id) continue;
      const { timestamp, distinct_id: id } = found;
      const isMerged = ids.includes(other);
      merges.push({
        timestamp,
        event,
        distinct_id: id,
        other_distinct_id: other,
        is_merged: isMerged,
        event_id: found.id,
      });
    }
  }
  // Events with equal times are sorted by id, so that the order is stable.
  const place = ({ timestamp, event_id: id }: Merge): string => `${timestamp} ${id}`;
  return merges.sort((a, b) => (place(a) < place(b) ? -1 : 1));
}

async function findPerson(api: ProjectApi, name: string): Promise<PersonRecord> {
  const query = { distinct_id: name };
  const [found] = await listUpTo<PersonRecord>(api, `${api.root}/persons/`, query, 1);
  if (found !== undefined) return found;
  const uuid = canonicalUuid(name);
  if (uuid !== undefined) return api.get<PersonRecord>(`${api.root}/persons/${uuid}/`);
  throw new CommandError(
    'notFound',
    `no person has the distinct_id "${name}"; search with "millrace persons list --search"`,
  );
}

function showPerson(terminal: Terminal, person: PersonRecord): void {
  showFields(terminal, {
    uuid: person.uuid,
    name: person.name,
    identified: person.is_identified ? 'yes' : 'no',
    'first seen': person.created_at,
    ...Object.fromEntries(person.distinct_ids.map((id, at) => [`distinct_id ${at + 1}`, id])),
    ...Object.fromEntries(
      Object.entries(person.properties).map(([key, value]) => [
        `properties.${key}`,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]),
    ),
  });
}
