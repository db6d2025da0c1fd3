import { describeOnPostgres, emptied } from '../../../test/support/postgres-database.ts';
import { testPluginConfigs } from './conformance.ts';

describeOnPostgres('on PostgreSQL', (database) => {
  testPluginConfigs('postgres', () => emptied(database));
});
