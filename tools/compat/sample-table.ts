import type { SampleResult } from './import-sample.ts';

const head = [
  '| tool | file | licence | as | records | skipped | events | rejected | verdict | the other tool expects |',
  '|---|---|---|---|--:|---|---|---|---|---|',
];

/** One line a sample, in Markdown; the repository's files stand at the commit that was tried. */
export function sampleTable(results: readonly SampleResult[]): string {
  return [...head, ...results.map(row)].join('\n');
}

function row(result: SampleResult): string {
  const { sample, verdict, records, skipped, skippedFor, rejected, note } = result;
  const { repo, commit, path, published, differs } = sample;
  const file = `[${nameOf(path)}](https://github.com/${repo}/blob/${commit}/${encodeURI(path)})`;
  const of = published?.event === undefined ? '' : ` \`${published.event}\``;
  const expected = published === undefined ? undefined : `${published.events}${of} (${published.where})`;
  const isRefused = verdict === 'refused';
  const cells = [
    sample.tool,
    `${repo}: ${file}`,
    sample.licence,
    `\`${sample.format}\``,
    isRefused ? '–' : records,
    skipped === 0 ? '' : `${skipped}: ${skippedFor.join('; ')}`,
    isRefused ? '–' : eventsOf(result),
    isRefused ? note : rejected === 0 ? '' : note,
    verdict,
    [expected, differs].filter((part) => part !== undefined).join('; '),
  ];
  return `| ${cells.map((cell) => cellOf(String(cell))).join(' | ')} |`;
}

function eventsOf({ events, identifies, duplicates }: SampleResult): string {
  const more = [
    ...(identifies === 0 ? [] : [`${identifies} \`$identify\``]),
    ...(duplicates === 0 ? [] : [`${duplicates} more held twice`]),
  ];
  return more.length === 0 ? String(events) : `${events} (${more.join(', ')})`;
}

function cellOf(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ');
}

/** The name of the file, with the lines that were taken. */
function nameOf(path: string): string {
  return path.split('/').at(-1) ?? path;
}
