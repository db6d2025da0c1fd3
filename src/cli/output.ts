import { Option, type Command } from 'commander';
import type { Terminal } from './terminal.ts';

const forms = ['table', 'ndjson', 'json', 'yaml'] as const;
type Form = (typeof forms)[number];

export interface OutputOptions {
  /** Records as JSON, each on a line of its own where there may be several. */
  readonly json?: boolean;
  readonly output?: Form;
}

/** `--json` and `--output`, which mean the same for every command that shows records. */
export function addOutputOptions(command: Command): Command {
  return command
    .option('--json', 'print JSON; of a list one object a line')
    .addOption(new Option('-o, --output <form>', 'how to print: a list as json is one array').choices([...forms]));
}

/** `table`: shows them to a person. */
export async function showList(
  terminal: Terminal,
  options: OutputOptions,
  items: readonly unknown[],
  table: () => void,
): Promise<void> {
  const form = formOf(options, 'ndjson');
  if (form === 'table') table();
  else if (form === 'ndjson') for (const item of items) terminal.data(JSON.stringify(item));
  else if (form === 'json') terminal.json(items);
  else await showYaml(terminal, items);
}

/** `columns`: of each its heading and its cell. */
export function showTable<Item>(
  terminal: Terminal,
  items: readonly Item[],
  columns: Readonly<Record<string, (item: Item) => string>>,
): void {
  const rows = items.map((item) => Object.values(columns).map((cellOf) => cellOf(item)));
  terminal.table(Object.keys(columns), rows);
}

/** `table`: shows it to a person. */
export async function showRecord(
  terminal: Terminal,
  options: OutputOptions,
  record: unknown,
  table: () => void,
): Promise<void> {
  const form = formOf(options, 'json');
  if (form === 'table') table();
  else if (form === 'ndjson') terminal.data(JSON.stringify(record));
  else if (form === 'json') terminal.json(record);
  else await showYaml(terminal, record);
}

/** `field  value`, a line each. */
export function showFields(terminal: Terminal, fields: Readonly<Record<string, string>>): void {
  terminal.table(['FIELD', 'VALUE'], Object.entries(fields));
}

function formOf({ json, output }: OutputOptions, jsonForm: 'json' | 'ndjson'): Form {
  return output ?? (json ? jsonForm : 'table');
}

async function showYaml(terminal: Terminal, value: unknown): Promise<void> {
  // It is rarely asked for, and takes longer to load than most commands take to run.
  const { yamlOf } = await import('./write-yaml.ts');
  terminal.data(yamlOf(value).trimEnd());
}
