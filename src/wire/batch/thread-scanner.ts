import { FastScanner } from './fast-scan.ts';

/**
 * Scanner of the thread: a private work buffer that every scan of the thread can share, instead of a parameter of every
 * function that handles events. `undefined` if assembly/ is not built.
 */
export const threadScanner: FastScanner | undefined = FastScanner.open();
