/** Which columns of a data feed are read, and under which name. */
export interface ColumnPlan {
  /** Name by position; undefined: not read. */
  readonly names: readonly (string | undefined)[];
}

const processed = 'post_';

/**
 * What Adobe has processed (`post_evar1`) stands for what was sent (`evar1`), also where it is empty, and takes its name.
 */
export function planColumns(columns: readonly string[]): ColumnPlan {
  const all = new Set(columns);
  const names = columns.map((column) => {
    if (column.startsWith(processed)) return column.slice(processed.length);
    return all.has(`${processed}${column}`) ? undefined : column;
  });
  return { names };
}

/** Cells of a line: a backslash takes the meaning off a tab, a line break or another backslash behind it. */
export function cellsOf(line: string): readonly string[] {
  if (!line.includes('\\')) return line.split('\t');
  return [...line.matchAll(/((?:\\[^]|[^\t\\])*)(?:\t|$)/g)]
    .slice(0, unescapedTabs(line) + 1)
    .map(([, cell = '']) => cell.replaceAll(/\\([\t\n\\])/g, '$1'));
}

function unescapedTabs(line: string): number {
  return line.replaceAll(/\\[^]/g, '').split('\t').length - 1;
}

/** What stands in a cell for nothing. */
export function isEmptyCell(cell: unknown): boolean {
  return cell === undefined || cell === null || cell === '' || cell === '::empty::' || cell === '::hash::0';
}
