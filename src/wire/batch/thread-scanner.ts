import { FastScanner } from './fast-scan.ts';

/**
 * The thread's scanner. Its private work buffer is shared by every scan of the thread, which saves passing it to every function
 * that handles events. `undefined` if assembly/ is not built.
 */
export const threadScanner: FastScanner | undefined = FastScanner.open();
