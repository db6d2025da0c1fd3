import { tempMetadata } from '../../../test/support/metadata.ts';
import { openSqlite } from '../../stores/metadata/sqlite.ts';
import { testJobs } from '../../../test/conformance/jobs/jobs.ts';

testJobs(async () => {
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
