import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { allFiles, read } from './source-tree.ts';

const pages = allFiles().filter((path) => /^docs\/guarantees(\/[\w-]+)?\.md$/.test(path));

interface Promised {
  readonly guarantee: string;
  readonly file: string;
}

/** Rows of the tables: when, guarantee, link to the file. */
function promised(): Promised[] {
  const row = /^\|[^|]*\| (?<guarantee>[^|]+) \| \[[\w-]+\]\((?<file>[^)]+)\) \|$/gm;
  return pages.flatMap((page) =>
    [...read(page).matchAll(row)].map(({ groups }) => ({
      guarantee: groups?.['guarantee'] ?? '',
      file: posix.join(posix.dirname(page), groups?.['file'] ?? ''),
    })),
  );
}

describe('the pages of guarantees', () => {
  it('every row is read', () => {
    const lines = pages.flatMap((page) => read(page).split('\n'));
    const rows = lines.filter((line) => line.startsWith('|') && line.includes(']('));
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
