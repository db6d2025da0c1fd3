/**
 * Patterns of file names: `*`, `?`, `[a-z]`, `{a,b}`, `{01..12}`, and `**` for any directories. Whatever a pattern says, the work
 * that it causes is bounded: braces by the number of paths that they stand for, a name by its length times that of the pattern.
 */

/** Paths that the braces of one pattern may stand for. */
export const alternativesMax = 1000;
const patternCharsMax = 4096;

/** Matches names of files; `/` separates names and is no part of them. */
export type NameMatcher = (name: string) => boolean;

/** The message says what is wrong with the pattern. */
export class PatternError extends Error {
  override name = 'PatternError';
}

/** Whether a name of a path stands for more than itself. */
export function isNamePattern(name: string): boolean {
  return /[*?[]/.test(name);
}

/** The patterns without braces that one with braces stands for. Throws PatternError when they are too many. */
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
  const advice = 'use * for what they have in common, or give several patterns';
  throw new PatternError(`expected braces that stand for at most ${alternativesMax} paths, got more: ${advice}`);
}

interface NumberRange {
  readonly from: string;
  readonly to: string;
}

interface Braces {
  /** Of the opening brace. */
  readonly start: number;
  /** Of the closing one. */
  readonly end: number;
  readonly choices: readonly string[];
  readonly range: NumberRange | undefined;
}

/** The first braces that hold a comma or a range of numbers; others are part of the name. */
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

/** Notes where the commas between its choices are. -1: it is never closed. */
function closingBrace(text: string, start: number, commas: number[]): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === '{') depth += 1;
    else if (text[at] === ',' && depth === 1) commas.push(at);
    else if (text[at] === '}' && (depth -= 1) === 0) return at;
  }
  return -1;
}

/** With as many digits as the longer end, where one begins with a zero. */
function numbersOf({ from, to }: NumberRange): string[] {
  const [first, last] = [Number(from), Number(to)];
  const count = Math.abs(last - first) + 1;
  refuseTooMany(count);
  const digits = /^-?0\d/.test(from) || /^-?0\d/.test(to) ? Math.max(from.length, to.length) : 0;
  const step = first <= last ? 1 : -1;
  return Array.from({ length: count }, (_, index) => String(first + step * index).padStart(digits, '0'));
}

type Token = 'any' | 'one' | ((char: string) => boolean);

/** As a shell does it: a hidden name (`.x`) is matched only by a pattern that begins with a dot. */
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

/** Of a class that opens at `start`; -1: it is never closed. A bracket that comes first in it is one of its characters. */
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

/** Only the last `*` can have taken too little: no other one is ever looked at again. */
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
