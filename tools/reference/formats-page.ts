import {
  evidenceKinds,
  type EvidencedRule,
  type EvidenceKind,
  type Format,
  type FormatOption,
} from '../../src/imports/formats/format.ts';
import { formats } from '../../src/imports/formats/registry.ts';
import { code, json, page, table } from './markdown.ts';

/** The index of all formats. */
export function formatsPage(): string {
  const about =
    'Formats convert records of other tools to events. Each has a page with its options, its name table and an example that the tests run. ' +
    '`millrace send history.jsonl.gz --from <slug> --historical` converts and sends a file; `--dry-run` only converts it.';
  const rows = formats
    .toSorted((a, b) => a.name.localeCompare(b.name, 'en'))
    .map((format) => [`[${format.name}](formats/${format.slug}.md)`, code(format.slug), prose(format.source)]);
  const names = [
    '## Names',
    'The name table gives the new names of events, properties and person properties. `null` drops one; ' +
      'unlisted names stay. A value never replaces another: if a new name is taken, the old one stays. ' +
      '`--print-names` prints the table; edited, it goes back with `--names <file>`.',
  ];
  return page('Formats', about, table(['Format', 'Slug', 'What it reads'], rows), ...names);
}

/** One page per format, by path from the root. */
export const formatPages: Readonly<Record<string, () => string>> = Object.fromEntries(
  formats.map((format) => [`docs/reference/formats/${format.slug}.md`, () => formatPage(format)]),
);

function formatPage(format: Format): string {
  return page(
    format.name,
    prose(format.description),
    `${code(format.slug)} reads: ${prose(format.source)}`,
    ...options(format.options),
    ...evidence(format),
    ...names(format),
    ...example(format),
    ...command(format),
    '[All formats](../formats.md)',
  );
}

function options(list: readonly FormatOption[]): string[] {
  if (list.length === 0) return [];
  const rows = list.map((option) => [
    code(option.key),
    option.label,
    (option.choices ?? []).map(code).join(', ') || 'text',
    code(option.default ?? ''),
    prose(option.description),
  ]);
  return ['## Options', table(['Option', 'In the console', 'Values', 'Default', 'Meaning'], rows)];
}

const kinds: Readonly<Record<EvidenceKind, string>> = {
  times: 'Times',
  zone: 'Zone and unit',
  ids: 'Ids',
  links: 'Persons',
  counts: 'Counts',
};

function evidence(format: Format): string[] {
  const rows = evidenceKinds.map((kind) => {
    const rule = format.evidence[kind];
    return [kinds[kind], prose(rule.rule), sourceOf(rule)];
  });
  return ['## Rules and their sources', table(['About', 'Rule', 'Source'], rows)];
}

function sourceOf(rule: EvidencedRule): string {
  if ('because' in rule) return `Not documented by the vendor. ${prose(rule.because)}`;
  const option = rule.option === undefined ? '' : `option ${code(rule.option)}`;
  if ('note' in rule) return `Not documented by the vendor: ${option}; the check warns if it is not set`;
  const links = rule.sources.map((url) => `[${new URL(url).host}](${url})`).join(', ');
  return option === '' ? links : `${links}; ${option}`;
}

const parts = [
  ['events', 'Event'],
  ['properties', 'Property'],
  ['person_properties', 'Property of a person'],
] as const;

function names(format: Format): string[] {
  const tables = parts.flatMap(([part, title]) => {
    const entries = Object.entries(format.names[part]);
    if (entries.length === 0) return [];
    const rows = entries.map(([name, after]) => [code(name), after === null ? 'dropped' : code(after)]);
    return [table([title, 'Becomes'], rows)];
  });
  return tables.length === 0 ? [] : ['## Names', ...tables];
}

function example({ example: { options: given, records, events } }: Format): string[] {
  const start = Object.keys(given).length === 0 ? ['The records'] : ['With the options', json(given), 'the records'];
  return ['## Example', ...start, json(records), 'become', json(events)];
}

function command({ slug, example: { options: given } }: Format): string[] {
  const named = Object.entries(given).map(([key, value]) =>
    value.length > 40 ? ` --format-option ${key}=@${key}.json` : ` --format-option ${key}=${value}`,
  );
  const line = `millrace send history.jsonl.gz --from ${slug}${named.join('')} --historical --rejected rejected.ndjson`;
  return ['## Usage', ['```sh', line, '```'].join('\n')];
}

/** Text that means what it says: `a__b` is a name, not the start of something bold. What is in backticks stays. */
function prose(text: string): string {
  return text
    .split('`')
    .map((part, index) => (index % 2 === 0 ? part.replaceAll(/[_*<]/g, String.raw`\$&`) : part))
    .join('`');
}
