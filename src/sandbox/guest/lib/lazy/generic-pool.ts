import pool from 'generic-pool';

/**
 * The package. Timers that it asks for never come: nothing is evicted in the background, and waiting is ended by the time that
 * a call may take.
 */
export const create = (): unknown => pool;
