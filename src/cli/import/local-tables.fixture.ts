/** For tests: a command that holds the store of an import, whose directory is its argument, until it is killed. */
import { localTables } from './local-tables.ts';

await localTables({ path: process.argv[2] ?? '' }).open();
process.send?.('open');
