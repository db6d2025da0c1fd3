import { createContext, Script } from 'node:vm';
import { wrongSetting } from '../../plugin.ts';
import { setFlagsFromString } from 'node:v8';

/** A user-written regular expression that is safe to run on text from senders. */
export interface GuardedPattern {
  readonly test: (text: string) => boolean;
  /** As RegExp.exec. */
  readonly exec: (text: string) => RegExpExecArray | null;
  /** As String.replace without `g`: replaces the first match; `by` may contain `$1` and similar references. */
  readonly replace: (text: string, by: string) => string;
}

/** Maximum time of one use, in ms. */
const deadlineMs = 50;
/** Maximum text lengths for patterns with linear and with quadratic time. */
const anyLengthMax = 10_000;
const squareLengthMax = 500;

/**
 * Compiles a pattern. A linear-time or evidently harmless one runs directly; any other runs under a deadline, which costs about
 * 0.1 ms per use, and throws when it is exceeded.
 * @throws SettingsError naming the setting if the pattern is invalid
 */
export function guardedPattern(setting: string, source: string, flags: '' | 'i' = ''): GuardedPattern {
  let pattern: RegExp;
  try {
    pattern = new RegExp(source, flags);
  } catch (cause) {
    throw wrongSetting(setting, 'expected a regular expression', { cause });
  }
  const run = withDeadline(setting);
  const directMax = flags === '' && endsInLinearTime(source) ? Number.POSITIVE_INFINITY : directLength(source);
  const guard = <T>(text: string, use: () => T): T => (text.length <= directMax ? use() : run(use));
  return {
    test: (text) => guard(text, () => pattern.test(text)),
    exec: (text) => guard(text, () => pattern.exec(text)),
    replace: (text, by) => guard(text, () => text.replace(pattern, by)),
  };
}

/** The engine can only be stopped while it runs inside a script, so the work is called from one. */
function withDeadline(setting: string): <T>(use: () => T) => T {
  let work: () => void = () => undefined;
  let script: Script | undefined;
  const context = createContext({ run: () => work() });
  return <T>(use: () => T): T => {
    script ??= new Script('run()');
    const results: T[] = [];
    work = () => void results.push(use());
    try {
      script.runInContext(context, { timeout: deadlineMs });
    } catch (cause) {
      throw new Error(`the regular expression of "${setting}" took more than ${deadlineMs} ms; make it simpler`, {
        cause,
      });
    }
    const [result] = results;
    if (result === undefined) throw new Error(`the regular expression of "${setting}" gave no result`);
    return result;
  };
}

/**
 * Returns the maximum length of text on which a pattern may run directly: 0 if time could grow faster than quadratically.
 * Conservative: no repeated groups, no back-references, few alternatives, and at most one unlimited repetition.
 */
function directLength(source: string): number {
  const plain = source.replace(/\\[^1-9k]/g, 'x').replace(/\[(?:[^\]\\]|\\.)*\]/g, 'x');
  const count = (form: RegExp): number => plain.match(form)?.length ?? 0;
  if (/\\[1-9k]|\)[*+{]|\d{3,}/.test(plain) || count(/[?|]/g) > 8 || count(/\{/g) > 1) return 0;
  const endless = count(/[*+]|\{\d+,\}/g);
  if (endless === 0) return anyLengthMax;
  if (endless > 1) return 0;
  return plain.startsWith('^') && !plain.includes('|') ? anyLengthMax : squareLengthMax;
}

const linear: string = 'l';

/**
 * Whether a regular expression without flags runs in linear time on any text: V8 then passes a search that backtracks too often
 * to its linear engine. That engine supports no look-around, back-references, large counts or flags: false for these.
 * @throws SyntaxError if the pattern is invalid
 */
export function endsInLinearTime(source: string): boolean {
  RegExp(source);
  turnOnEngine();
  try {
    RegExp(source, linear);
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

/** The flags apply to the whole process; they change no results, and nothing about searches that backtrack little. */
function turnOnEngine(): void {
  setFlagsFromString('--enable-experimental-regexp-engine');
  setFlagsFromString('--enable-experimental-regexp-engine-on-excessive-backtracks');
}
