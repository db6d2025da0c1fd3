import { describeOnPostgres, emptied } from '../../../test/support/postgres-database.ts';
import { migrate } from '../../metadata/migrate.ts';
import { testSpread } from './spread-conformance.ts';
import { testFence } from './fence-conformance.ts';
import { testSlotStorm, testUnfencedStorm } from './storm-conformance.ts';
import { testSlotWorkers } from './worker-conformance.ts';

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
