import { describeOnPostgres, emptied } from '../../../test/support/postgres-database.ts';
import { migrate } from '../../stores/metadata/migrate.ts';
import { describeProcesses } from '../../../test/conformance/processes/processes.ts';

describeOnPostgres('processes on PostgreSQL', (database) => {
  describeProcesses(async () => {
    const stores = await emptied(database);
    await migrate(stores.db, 'postgres');
    return stores;
  });
});
