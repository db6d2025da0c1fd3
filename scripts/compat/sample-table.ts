import type { SampleResult } from './import-sample.ts';

const head = [
  '| tool | file | licence | as | records | left out | events | rejected | verdict | the other tool expects |',
  '|---|---|---|---|--:|--:|--:|--:|---|---|',
];

/** One line a sample, in Markdown; the repository's files stand at the commit that was tried. */
export function sampleTable(results: readonly SampleResult[]): string {
  return [...head, ...results.map(row)].join('\n');
}

function row({ sample, verdict, records, skipped, events, duplicates, rejected, note }: SampleResult): string {
  const file = `[${nameOf(sample.path)}](https://github.com/${sample.repo}/blob/${sample.commit}/${encodeURI(sample.path)})`;
  const repeated = duplicates === 0 ? '' : ` (${duplicates} twice)`;
  const why = note === '' ? '' : `: ${note}`;
  const expected = sample.published === undefined ? '' : `${sample.published.events} (${sample.published.where})`;
  const cells = [
    sample.tool,
    file,
    sample.licence,
    sample.format,
    records,
    skipped,
    `${events}${repeated}`,
    `${rejected}${why}`,
    verdict,
    [expected, sample.differs ?? ''].filter((part) => part !== '').join('; '),
  ];
  return `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
}

function nameOf(path: string): string {
  return path.split('/').at(-1) ?? path;
}
