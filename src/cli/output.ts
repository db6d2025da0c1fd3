import { Option, type Command } from 'commander';
import type { Terminal } from './terminal.ts';

const forms = ['table', 'ndjson', 'json', 'yaml'] as const;
type Form = (typeof forms)[number];

export interface OutputOptions {
  /** Prints JSON, lists as one record per line. */
  readonly json?: boolean;
  readonly output?: Form;
}

/** Adds `--json` and `--output`, which mean the same for all commands that show records. */
export function addOutputOptions(command: Command): Command {
  return command
    .option('--json', 'print JSON, a list as one object per line')
    .addOption(new Option('-o, --output <form>', 'output format; json prints a list as one array').choices([...forms]));
}

/**
 * Prints a list in the requested format.
 *
 * @param table prints the readable form
 */
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

/** @param columns cell of an item by heading */
export function showTable<Item>(
  terminal: Terminal,
  items: readonly Item[],
  columns: Readonly<Record<string, (item: Item) => string>>,
): void {
  const rows = items.map((item) => Object.values(columns).map((cellOf) => cellOf(item)));
  terminal.table(Object.keys(columns), rows);
}

/**
 * Prints a record in the requested format.
 *
 * @param table prints the readable form
 */
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

/** Shows a field and its value per line. */
export function showFields(terminal: Terminal, fields: Readonly<Record<string, string>>): void {
  terminal.table(['FIELD', 'VALUE'], Object.entries(fields));
}

function formOf({ json, output }: OutputOptions, jsonForm: 'json' | 'ndjson'): Form {
  return output ?? (json ? jsonForm : 'table');
}

async function showYaml(terminal: Terminal, value: unknown): Promise<void> {
  // Rarely used, and takes longer to load than most commands take to run.
  const { yamlOf } = await import('./write-yaml.ts');
  terminal.data(yamlOf(value).trimEnd());
}
