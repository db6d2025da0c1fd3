import type { Migration } from './migration.ts';

/**
 * Registers are written in groups from now on, in SQLite: see persons/registers-text.ts. What is stored stays as it is until it
 * changes. Earlier versions cannot read the new form, so they must not start on this store any more.
 */
export const groupedRegisters: Migration = { version: 21, name: 'grouped registers', up: async () => {} };
