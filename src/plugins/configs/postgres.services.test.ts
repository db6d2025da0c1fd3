import { describeOnPostgres, emptied } from '../../../test/support/postgres-database.ts';
import { testPluginConfigs } from '../../../test/conformance/plugin-configs/plugin-configs.ts';

describeOnPostgres('on PostgreSQL', (database) => {
  testPluginConfigs('postgres', () => emptied(database));
});
