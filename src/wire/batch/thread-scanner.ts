import { FastScanner } from './fast-scan.ts';

/**
 * The thread's own: it is a buffer for work that nobody else sees, and every scan of the thread can use the same. As a parameter it
 * would have to go through everybody who hands on an event. Undefined where assembly/ is not built.
 */
export const threadScanner: FastScanner | undefined = FastScanner.open();
