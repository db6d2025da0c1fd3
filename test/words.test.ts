import { describe, expect, it } from 'vitest';
import { allFiles, read } from './source-tree.ts';

/**
 * Words of STYLE.md that are always wrong here. The other rows of its table depend on the sentence and are checked by reading.
 * Each expression is matched against a whole line, in any case. `--odd-times` is an option that stays.
 */
const refused: Readonly<Record<string, RegExp>> = {
  'again, from scratch': /\banew\b/i,
  'continues, resumes': /\b(go|goes|going|gone|went) on\b(?! (sale|top|call))/i,
  'the role (a user, an operator, another process)': /\b(somebody|someone|nobody|no one|whoever|whomever|whom)\b/i,
  'is notified, reports': /\b((is|are|was|were|be|been|being) told|(tell|tells|telling) of|hears? of|heard of)\b/i,
  'releases, drops, evicts': /\b(let|lets|letting) go\b|\bletGo\b/i,
  permanently: /\bfor good\b/i,
  'the outcome of, what happens to': /\bwhat (becomes|became|has become) of\b/i,
  'skipped, excluded, omitted': /\b(left|leave|leaves|leaving) out\b/i,
  'unusual, invalid, unexpected': /\b(odd|oddly|odds|oddity|oddities)\b(?!-times)|\b(is|found|no)?Odd(?=[A-Z]|\b)/,
  'checks, polls, supervises': /\blook(s|ed|ing)? (whether|after|if)\b|\ba look\b/i,
  'its own, separate': /\bof (its|their|our|his) own\b/i,
  'action, operation': /\bdeeds?\b|Deeds?\b/,
  'is not a, does not exist': /\b(is|are|was|were) none\b/i,
  'waitFor…, yieldToLoop, siblings': /\b(untilAlone|breathe|fellows)\b/i,
};

const isText = (path: string): boolean => /\.(ts|tsx|js|md|ya?ml)$/.test(path) && !path.endsWith('package-lock.json');
/** The table of words itself, code of others, and decisions, which are never rewritten. */
const isExempt = (path: string): boolean =>
  path === 'STYLE.md' ||
  path === 'test/words.test.ts' ||
  path === 'CODE_OF_CONDUCT.md' ||
  path.startsWith('docs/decisions/');
const held = allFiles().filter((path) => isText(path) && !isExempt(path));

function findings(path: string): string[] {
  return read(path)
    .split('\n')
    .flatMap((line, index) =>
      Object.entries(refused)
        .filter(([, word]) => word.test(line))
        .map(([better, word]) => `${path}:${index + 1}: "${word.exec(line)?.[0] ?? ''}": write ${better}`),
    );
}

describe('the words of the field', () => {
  it('code, comments, messages and pages use none of the words that STYLE.md refuses', () => {
    expect(held.flatMap(findings)).toEqual([]);
  });
});
