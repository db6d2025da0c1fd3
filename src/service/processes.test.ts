import { tempMetadata } from '../../test/support/metadata.ts';
import { openSqlite } from '../metadata/sqlite.ts';
import { describeProcesses } from './processes-conformance.ts';

describeProcesses(async () => {
  const store = await tempMetadata();
  const other = openSqlite(store.file);
  return {
    db: store.db,
    other,
    [Symbol.asyncDispose]: async () => {
      await other.destroy();
      await store[Symbol.asyncDispose]();
    },
  };
});
