import { setFlagsFromString } from 'node:v8';

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
