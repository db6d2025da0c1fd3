import { expect, it } from 'vitest';
import { shardKeySql } from './clickhouse/shard-key.ts';
import { orderSql } from './run-facts.ts';
import { clusterForm } from './schema-form.ts';

it('the table through which sorted facts are read on a cluster has no shard key, whose columns it lacks', () => {
  const form = clusterForm({ cluster: 'main', database: 'millrace', weights: [1, 1] }, shardKeySql);
  const sql = orderSql({ kind: 'begin-order', run: { projectId: 1, runId: 'r' } }, form);
  const through = sql.filter((each) => each.includes('Distributed('));
  expect(through).toHaveLength(1);
  expect(through[0]).not.toContain('project_id');
  expect(through[0]).toContain("ENGINE = Distributed('main', 'millrace', 'run_1_r_ordered_local')");
});
