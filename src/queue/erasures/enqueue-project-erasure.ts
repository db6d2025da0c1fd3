import type { Queries } from '../../stores/metadata/queries.ts';
import type { ErasureSpec } from '../../wire/contract/erasures.ts';
import { enqueueTask } from '../tasks/task-store.ts';
import { erasureKind } from './erasure.ts';

/** Enqueues the erasure of all events of a project. Belongs in the transaction that deletes it. `now` in ms. */
export async function enqueueProjectErasure(tx: Queries, projectId: number, now: number): Promise<void> {
  const spec: ErasureSpec = { by: 'project', requested_ids: 0, selection: null };
  await enqueueTask(tx, { projectId, kind: erasureKind, spec, createdBy: null, now });
}
