import { createContext, Script } from 'node:vm';
import { wrongSetting } from '../../plugin.ts';
import { setFlagsFromString } from 'node:v8';

/** A regular expression that a person wrote, safe to run on what senders write. */
export interface GuardedPattern {
  readonly test: (text: string) => boolean;
  /** As RegExp.exec. */
  readonly exec: (text: string) => RegExpExecArray | null;
  /** As String.replace without `g`: the first match, with `$1` and the like. */
  readonly replace: (text: string, by: string) => string;
}

/** Most time that one use may take, in ms. */
const deadlineMs = 50;
/** Longest texts for patterns whose time grows with the length, and with its square. */
const anyLengthMax = 10_000;
const squareLengthMax = 500;

/**
 * Compiles a pattern. One that ends in linear time or is plainly harmless runs directly; any other runs under a deadline,
 * which costs about 0.1 ms each time, and throws when it is passed.
 * @throws SettingsError naming the setting when it is no regular expression.
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
 * Up to which length of text a pattern may run directly: 0 where time could grow faster than with its square. Conservative:
 * no group repeats, nothing refers back, few alternatives, and at most one part that repeats without a limit.
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
 * Whether a regular expression, used without flags, ends in time that grows with the length of the text, whatever the text:
 * V8 then leaves a search that goes back and forth too often to its engine without backtracking. That engine cannot run
 * look-ahead, references to groups, large counts and flags: false for these.
 * @throws SyntaxError when it is no regular expression.
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

/** The flags belong to the whole process; they change no result, and nothing about searches that do not go astray. */
function turnOnEngine(): void {
  setFlagsFromString('--enable-experimental-regexp-engine');
  setFlagsFromString('--enable-experimental-regexp-engine-on-excessive-backtracks');
}
