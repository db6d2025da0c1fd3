import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { read } from './source-tree.ts';

const page = 'docs/guarantees.md';

interface Promised {
  readonly guarantee: string;
  readonly file: string;
}

/** Rows of the tables: when, guarantee, link to the file. */
function promised(): Promised[] {
  return [...read(page).matchAll(/^\|[^|]*\| (?<guarantee>[^|]+) \| \[[\w-]+\]\((?<file>[^)]+)\) \|$/gm)].map(
    ({ groups }) => ({
      guarantee: groups?.['guarantee'] ?? '',
      file: posix.join(posix.dirname(page), groups?.['file'] ?? ''),
    }),
  );
}

describe('the page of guarantees', () => {
  it('every row is read', () => {
    const rows = read(page)
      .split('\n')
      .filter((line) => line.startsWith('|') && line.includes(']('));
    expect(rows.length).toBeGreaterThan(40);
    expect(promised()).toHaveLength(rows.length);
  });

  it('every guarantee is the name of a test in the linked file', () => {
    const missing = promised().filter(({ guarantee, file }) => {
      const source = read(file);
      return !["'", '"', '`'].some((quote) => source.includes(quote + guarantee + quote));
    });
    expect(missing).toEqual([]);
  });
});
