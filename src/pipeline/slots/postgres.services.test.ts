import { describeOnPostgres, emptied } from '../../../test/support/postgres-database.ts';
import { migrate } from '../../stores/metadata/migrate.ts';
import { testSpread } from '../../../test/conformance/slots/spread.ts';
import { testFence } from '../../../test/conformance/slots/fence.ts';
import { testSlotStorm, testUnfencedStorm } from '../../../test/conformance/slots/storm.ts';
import { testSlotWorkers } from '../../../test/conformance/slots/worker.ts';

describeOnPostgres('slots on PostgreSQL', (database) => {
  const open = async () => {
    const store = await emptied(database);
    await migrate(store.db, 'postgres');
    return store;
  };
  testFence(open);
  testSlotWorkers(open);
  testSlotStorm(open);
  testUnfencedStorm(open);
  testSpread(open, [3, 4]);
});
