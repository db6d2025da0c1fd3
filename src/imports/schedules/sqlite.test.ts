import { tempMetadata } from '../../../test/support/metadata.ts';
import { openSqlite } from '../../metadata/sqlite.ts';
import { testSchedules } from './conformance.ts';

testSchedules(async () => {
  const store = await tempMetadata();
  const other = openSqlite(store.file);
  return {
    db: store.db,
    other,
    async [Symbol.asyncDispose]() {
      await other.destroy();
      await store[Symbol.asyncDispose]();
    },
  };
});
