import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));

/** What stands between two fences of a page. */
export interface Block {
  /** Relative to the root. */
  readonly page: string;
  /** The nearest one above, of any level. */
  readonly heading: string;
  /** As the fence names it: `sh`, `json`. Empty: it names none. */
  readonly language: string;
  /** As a reader copies it: without the indentation of the list that it stands in. */
  readonly text: string;
}

/** The pages that are written by hand; relative to the root. */
export function writtenPages(): string[] {
  const pages = globSync(['*.md', 'docs/**/*.md', 'deploy/**/*.md'], { cwd: root });
  return pages.filter((page) => !page.startsWith('docs/reference/')).toSorted();
}

/** The blocks of a page, in their order. */
export function readBlocks(page: string): Block[] {
  const found: Block[] = [];
  let heading = '';
  let open: { readonly indent: string; readonly language: string; readonly lines: string[] } | undefined;
  for (const line of readFileSync(join(root, page), 'utf8').split('\n')) {
    const [, indent = '', rest] = /^( *)```(.*)$/.exec(line) ?? [];
    if (open === undefined) {
      heading = /^#+ (.*)$/.exec(line)?.[1] ?? heading;
      if (rest !== undefined) open = { indent, language: rest.trim(), lines: [] };
    } else if (rest === undefined) open.lines.push(line.slice(open.indent.length));
    else {
      found.push({ page, heading, language: open.language, text: `${open.lines.join('\n')}\n` });
      open = undefined;
    }
  }
  if (open !== undefined) throw new Error(`expected a fence at the end of the last block of ${page}`);
  return found;
}
