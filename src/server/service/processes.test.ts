import { tempMetadata } from '../../../test/support/metadata.ts';
import { openSqlite } from '../../stores/metadata/sqlite.ts';
import { describeProcesses } from '../../../test/conformance/processes/processes.ts';

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
