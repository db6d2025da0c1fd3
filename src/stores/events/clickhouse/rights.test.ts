import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { grantedTables } from '../../../../test/support/clickhouse-rights.ts';

/** System tables that every user may read, limited to objects the user can access. */
const forEveryone = new Set(['tables', 'columns', 'databases']);

it('the guide grants every system table that a statement on a server reads', () => {
  const sources = globSync(
    'src/{stores/events,stores/move,stores/backup,server/service,pipeline,server/api}/**/*.ts',
  ).filter((path) => !path.includes('.test.') && !path.startsWith('src/stores/events/chdb/'));
  const read = sources.flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/FROM system\.(\w+)/g)].map(([, table]) => table ?? ''),
  );
  const needed = [...new Set(read)].filter((table) => !forEveryone.has(table));
  expect(needed.length).toBeGreaterThan(3);
  expect(grantedTables().toSorted()).toEqual(needed.toSorted());
});
