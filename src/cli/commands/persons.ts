import type { Command } from 'commander';
import type { PersonRecord } from '../../contract/persons.ts';
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

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
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
}

async function findPerson(api: ProjectApi, name: string): Promise<PersonRecord> {
  const query = { distinct_id: name };
  const [found] = await listUpTo<PersonRecord>(api, `${api.root}/persons/`, query, 1);
  if (found !== undefined) return found;
  if (uuidForm.test(name)) return api.get<PersonRecord>(`${api.root}/persons/${name}/`);
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
