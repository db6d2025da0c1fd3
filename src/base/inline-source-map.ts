import { SourceMap, type SourceMapPayload } from 'node:module';

/** Source map of one file, as written by esbuild. */
export interface FileMap {
  readonly sources: readonly string[];
  readonly names: readonly string[];
  readonly mappings: string;
}

/** Text at the start of a script line, and its origin. `undefined` if it was not written in a file. */
export interface MappedText {
  readonly text: string;
  readonly map?: FileMap | undefined;
}

const comment = '\n//# sourceMappingURL=data:application/json;base64,';
/** Larger scripts are bundles already: reading their map would block the caller. */
const mappedLengthMax = 1_000_000;
const mapLengthMax = 4_000_000;
const nowhere: FileMap = { sources: [], names: [], mappings: 'A' };

/** Concatenates texts with a combined source map in a trailing comment. Each but the last ends with a line break. */
export function joinMapped(parts: readonly MappedText[]): string {
  const script = parts.map(({ text }) => text).join('');
  if (script.length > mappedLengthMax) return script;
  let line = 0;
  const sections = parts.map(({ text, map }) => {
    const section = { offset: { line, column: 0 }, map: { version: 3, ...(map ?? nowhere) } };
    line += text.split('\n').length - 1;
    return section;
  });
  return `${script}${comment}${Buffer.from(JSON.stringify({ version: 3, sections })).toString('base64')}`;
}

/** Maps each line to the same line of the file. */
export function mapOfLines(path: string, text: string): FileMap {
  return { sources: [path], names: [], mappings: `AAAA${';AACA'.repeat(text.split('\n').length - 1)}` };
}

/** Returns the script without its map. */
export function withoutMap(script: string): string {
  const at = script.lastIndexOf(comment);
  return at === -1 ? script : script.slice(0, at);
}

/** Returns where a position of the script was written, or `undefined` if unknown. Lines and columns count from 1. */
export type FindOrigin = (line: number, column: number) => string | undefined;

/** `undefined` if the script has no map, or one of its author's that cannot be read. */
export function originsOf(script: string): FindOrigin | undefined {
  const at = script.lastIndexOf(comment);
  if (at === -1 || script.length - at > mapLengthMax) return undefined;
  const map = readMap(script.slice(at + comment.length));
  if (map === undefined) return undefined;
  return (line, column) => {
    const entry = map.findEntry(line - 1, column - 1);
    if (!('originalSource' in entry) || !entry.originalSource) return undefined;
    const { originalSource: file, originalLine, originalColumn, generatedColumn } = entry;
    // Unchanged lines are mapped from their beginning, translated ones word by word.
    const behind = generatedColumn === 0 && originalColumn === 0 ? column - 1 : 0;
    return `${file}:${originalLine + 1}:${originalColumn + behind + 1}`;
  };
}

function readMap(base64: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(Buffer.from(base64, 'base64').toString('utf8')) as SourceMapPayload);
  } catch {
    // The author may have written anything there: positions are reported unchanged.
    return undefined;
  }
}
