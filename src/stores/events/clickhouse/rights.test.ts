import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { grantedTables, rightsOfGuide } from '../../../../test/support/clickhouse-rights.ts';
import { clickhouseRights } from '../server-rights.ts';

/** System tables that every user may read, limited to objects the user can access. */
const forEveryone = new Set(['tables', 'columns', 'databases', 'settings']);

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

it('the rights that doctor checks are those of the guide', () => {
  // `A, B ON x` is `A ON x` and `B ON x`; engines are named with each.
  const single = (statement: string): string[] => {
    const [, rights = '', on = ''] = /^(.*?) ON ([^,]+)$/.exec(statement) ?? [];
    if (rights === '') return statement.split(', ');
    return rights.split(', ').map((right) => `${right} ON ${on}`);
  };
  const guide = rightsOfGuide().map((sql) =>
    sql.replace(/^GRANT (.*) TO millrace$/, '$1').replace('millrace.*', '{database}.*'),
  );
  expect(clickhouseRights.flatMap(({ right }) => single(right)).toSorted()).toEqual(guide.flatMap(single).toSorted());
});
