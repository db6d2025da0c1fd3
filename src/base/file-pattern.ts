/**
 * File name patterns: `*`, `?`, `[a-z]`, `{a,b}`, `{01..12}`, and `**` for any directories. The work per pattern is bounded:
 * braces by the number of expanded paths, a name by its length times that of the pattern.
 */

/** Maximum of paths that the braces of a pattern expand to. */
export const alternativesMax = 1000;
const patternCharsMax = 4096;

/** Matches file names; `/` separates names and is not part of them. */
export type NameMatcher = (name: string) => boolean;

/** The message describes the problem with the pattern. */
export class PatternError extends Error {
  override name = 'PatternError';
}

/** Whether a path segment is a pattern. */
export function isNamePattern(name: string): boolean {
  return /[*?[]/.test(name);
}

/** Expands braces. @throws PatternError if there are too many results */
export function expandBraces(pattern: string): string[] {
  if (pattern.length > patternCharsMax) {
    throw new PatternError(`expected a pattern of at most ${patternCharsMax} characters, got ${pattern.length}`);
  }
  return expanded(pattern);
}

function expanded(text: string): string[] {
  const braces = findBraces(text);
  if (braces === undefined) return [text];
  const before = text.slice(0, braces.start);
  const inner = braces.range === undefined ? braces.choices.flatMap(expanded) : numbersOf(braces.range);
  const after = expanded(text.slice(braces.end + 1));
  refuseTooMany(inner.length * after.length);
  return inner.flatMap((choice) => after.map((rest) => before + choice + rest));
}

function refuseTooMany(count: number): void {
  if (count <= alternativesMax) return;
  const advice = 'use * for the common part, or give several patterns';
  throw new PatternError(`expected braces that expand to at most ${alternativesMax} paths, got more: ${advice}`);
}

interface NumberRange {
  readonly from: string;
  readonly to: string;
}

interface Braces {
  /** Position of the opening brace. */
  readonly start: number;
  /** Position of the closing brace. */
  readonly end: number;
  readonly choices: readonly string[];
  readonly range: NumberRange | undefined;
}

/** Finds the first braces with a comma or a number range; others are part of the name. */
function findBraces(text: string): Braces | undefined {
  for (let start = text.indexOf('{'); start >= 0; start = text.indexOf('{', start + 1)) {
    const commas: number[] = [];
    const end = closingBrace(text, start, commas);
    if (end < 0) continue;
    const [, from, to] = /^(-?\d{1,9})\.\.(-?\d{1,9})$/.exec(text.slice(start + 1, end)) ?? [];
    const range = from === undefined || to === undefined ? undefined : { from, to };
    if (commas.length === 0 && range === undefined) continue;
    const bounds = [start, ...commas, end];
    const choices = bounds.slice(1).map((bound, index) => text.slice((bounds[index] ?? 0) + 1, bound));
    return { start, end, choices, range };
  }
  return undefined;
}

/** Collects the positions of commas between choices. Returns -1 if the brace is not closed. */
function closingBrace(text: string, start: number, commas: number[]): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === '{') depth += 1;
    else if (text[at] === ',' && depth === 1) commas.push(at);
    else if (text[at] === '}' && (depth -= 1) === 0) return at;
  }
  return -1;
}

/** Pads with zeros to the length of the longer end if one starts with a zero. */
function numbersOf({ from, to }: NumberRange): string[] {
  const [first, last] = [Number(from), Number(to)];
  const count = Math.abs(last - first) + 1;
  refuseTooMany(count);
  const digits = /^-?0\d/.test(from) || /^-?0\d/.test(to) ? Math.max(from.length, to.length) : 0;
  const step = first <= last ? 1 : -1;
  return Array.from({ length: count }, (_, index) => String(first + step * index).padStart(digits, '0'));
}

type Token = 'any' | 'one' | ((char: string) => boolean);

/** Matches like a shell: a hidden name (`.x`) only matches a pattern that starts with a dot. */
export function createNameMatcher(pattern: string): NameMatcher {
  const chars = Array.from(pattern);
  const tokens = tokensOf(chars);
  const takesHidden = chars[0] === '.';
  return (name) => (takesHidden || !name.startsWith('.')) && matches(tokens, Array.from(name));
}

function tokensOf(chars: readonly string[]): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < chars.length; at += 1) {
    const char = chars[at] ?? '';
    const end = char === '[' ? classEnd(chars, at) : -1;
    if (char === '*') {
      if (tokens.at(-1) !== 'any') tokens.push('any');
    } else if (char === '?') tokens.push('one');
    else if (end > 0) {
      tokens.push(classOf(chars.slice(at + 1, end)));
      at = end;
    } else tokens.push((found) => found === char);
  }
  return tokens;
}

/** Returns the end of a class that opens at `start`, or -1 if it is not closed. A leading bracket is one of its characters. */
function classEnd(chars: readonly string[], start: number): number {
  const isNegated = chars[start + 1] === '!' || chars[start + 1] === '^';
  return chars.indexOf(']', start + (isNegated ? 3 : 2));
}

function classOf(chars: readonly string[]): (char: string) => boolean {
  const isNegated = chars[0] === '!' || chars[0] === '^';
  const own = isNegated ? chars.slice(1) : chars;
  const ranges: (readonly [from: string, to: string])[] = [];
  for (let at = 0; at < own.length; at += 1) {
    const from = own[at] ?? '';
    const to = own[at + 1] === '-' ? own[at + 2] : undefined;
    ranges.push([from, to ?? from]);
    if (to !== undefined) at += 2;
  }
  return (char) => ranges.some(([from, to]) => from <= char && char <= to) !== isNegated;
}

/** Only the last `*` can have matched too little; earlier ones are never reconsidered. */
function matches(tokens: readonly Token[], name: readonly string[]): boolean {
  let token = 0;
  let at = 0;
  let star = -1;
  let starAt = 0;
  while (at < name.length) {
    const next = tokens[token];
    if (next === 'any') {
      star = token;
      starAt = at;
      token += 1;
    } else if (next !== undefined && (next === 'one' || next(name[at] ?? ''))) {
      token += 1;
      at += 1;
    } else if (star >= 0) {
      token = star + 1;
      starAt += 1;
      at = starAt;
    } else return false;
  }
  return tokens.slice(token).every((left) => left === 'any');
}
