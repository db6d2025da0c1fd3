import { tempMetadata } from '../../../test/support/metadata.ts';
import { openSqlite } from '../../stores/metadata/sqlite.ts';
import { testNotices } from '../../../test/conformance/notices/notices.ts';

testNotices(async () => {
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
