import { counted } from '../../base/integer-text.ts';
import type { FindingCode, PreflightFinding, PreflightResult } from '../../wire/contract/import-preflight.ts';
import { CommandError, type ExitReason } from '../exit-codes.ts';
import { printable, type Terminal } from '../terminal.ts';

/** Findings with separate exit codes; other problems end with `preflight`. */
const exitReasons: Partial<Record<FindingCode, ExitReason>> = {
  target_unreachable: 'unreachable',
  project_key_missing: 'auth',
  project_key_unknown: 'auth',
  personal_key_refused: 'auth',
  personal_key_scope: 'auth',
  personal_key_project: 'auth',
};

/** Shows what was checked and found, and what to change. */
export function showPreflight(terminal: Terminal, { findings }: PreflightResult): void {
  for (const finding of findings) for (const line of linesOf(finding)) terminal.data(line);
}

/** Notes problems and warnings before the import starts, and the extent of the source. */
export function notePreflight(terminal: Terminal, { findings }: PreflightResult): void {
  const noted = findings.filter(({ level, code }) => level !== 'fine' || code === 'source_extent');
  for (const finding of noted) for (const line of linesOf(finding)) terminal.note(line);
}

function linesOf({ level, check, message, advice }: PreflightFinding): string[] {
  const head = `${level.padEnd(8)} ${check.replaceAll('_', ' ').padEnd(13)} ${printable(message)}`;
  return advice === null ? [head] : [head, `${' '.repeat(23)}→ ${printable(advice)}`];
}

/** Returns how the command ends; `undefined` without a problem. The first problem decides. */
export function endOfPreflight({ findings }: PreflightResult): CommandError | undefined {
  const problems = findings.filter(({ level }) => level === 'problem');
  const [first] = problems;
  if (first === undefined) return undefined;
  const count = counted(problems.length, 'problem');
  const message = `the preflight found ${count}; nothing was fetched or sent; --no-preflight starts anyway`;
  return new CommandError(exitReasons[first.code] ?? 'preflight', message);
}
