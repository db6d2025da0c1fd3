import { counted, integer } from '../../base/integer-text.ts';
import { readDatabaseTime } from '../../stores/metadata/database-clock.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { advice } from '../../queue/notices/advice.ts';
import { enqueueNotice } from '../../queue/notices/outbox.ts';
import type { Run } from './run.ts';

/** Enqueues a notification in the transaction that ends a run, except for runs of the command line. */
export async function enqueueRunNotice(tx: Queries, run: Run): Promise<void> {
  if (run.projectId === 0) return;
  const now = await readDatabaseTime(tx);
  const common = {
    projectId: run.projectId,
    target: `imports/${run.configId}/runs/${run.id}`,
    state: 'happened',
  } as const;
  const details = { run: run.id, config: run.configId };
  if (run.state === 'failed') {
    const summary = `Import from ${run.source} failed: ${run.reason}`;
    await enqueueNotice(tx, { ...common, event: 'run_failed', summary, action: advice.run_failed, details }, now);
    return;
  }
  const { records, loaded, rejected } = run.totals;
  const done = run.options.last === 'check' ? 'is checked' : 'is done';
  const summary = `Import from ${run.source} ${done}: ${counted(records, 'record')}, ${integer(rejected)} rejected, ${counted(loaded, 'event')} loaded.`;
  const totals = { ...details, records, rejected, loaded };
  await enqueueNotice(tx, { ...common, event: 'run_completed', summary, action: '', details: totals }, now);
}
