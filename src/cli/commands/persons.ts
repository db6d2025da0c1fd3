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

/** Persons of a running service. */
export function personsCommand(parent: Command, terminal: Terminal): void {
  const persons = parent.command('persons').description('persons of a running service');

  addApiOptions(persons.command('list'))
    .option('--search <text>', 'only those one of whose ids begins with this, or whose uuid or email it is')
    .option('--email <address>', 'only those with exactly this property email')
    .option('--limit <number>', 'how many', '20')
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
    .option('--limit <number>', 'how many events of each kind to look at, the newest', '1000')
    .description('show how the ids of a person came together: the events that said so, oldest first')
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

/** An event that said that two ids are one person. */
interface Merge {
  readonly timestamp: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly other_distinct_id: string;
  /** Whether they are: a merge may have been refused, which an ingestion warning says. */
  readonly is_merged: boolean;
  readonly event_id: string;
}

type MergingEvent = Static<typeof eventSchema>;

/** Events that merge, and the property that names the other id. */
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
  // Events of the same moment have no order of their own: by their ids they stand the same way every time.
  const place = ({ timestamp, event_id: id }: Merge): string => `${timestamp} ${id}`;
  return merges.sort((a, b) => (place(a) < place(b) ? -1 : 1));
}

async function findPerson(api: ProjectApi, name: string): Promise<PersonRecord> {
  const query = { distinct_id: name };
  const [found] = await listUpTo<PersonRecord>(api, `${api.root}/persons/`, query, 1);
  if (found !== undefined) return found;
  const uuid = canonicalUuid(name);
  if (uuid !== undefined) return api.get<PersonRecord>(`${api.root}/persons/${uuid}/`);
  throw new CommandError('notFound', `no person has the distinct_id "${name}"; "millrace persons list --search" finds`);
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
