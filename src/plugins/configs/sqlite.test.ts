import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite } from '../../stores/metadata/sqlite.ts';
import { testPluginConfigs } from '../../../test/conformance/plugin-configs/plugin-configs.ts';

testPluginConfigs('sqlite', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-configs-'));
  const file = join(directory, 'metadata.db');
  const [db, other] = [openSqlite(file), openSqlite(file)];
  return {
    db,
    other,
    async [Symbol.asyncDispose]() {
      await Promise.all([db.destroy(), other.destroy()]);
      await rm(directory, { recursive: true, force: true });
    },
  };
});
