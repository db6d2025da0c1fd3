import { ApiError } from '../../wire/contract/errors.ts';
import { importRunIdSchema, importRunSchema } from '../../wire/contract/import-runs.ts';
import { importUndoPlanSchema, importUndoSchema } from '../../wire/contract/import-undo.ts';
import { apiRoute, type ApiReply, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import type { UndoPlan } from '../../imports/run/results.ts';
import { toRunRecord } from '../../imports/run/run-record.ts';
import { RunTransitionError, undoRun } from '../../imports/run/run-transitions.ts';
import { allowedActions, type Run } from '../../imports/run/run.ts';
import { guarded } from '../../imports/run/steering.ts';
import { planUndo } from '../../imports/stages/undo/plan-undo.ts';
import { fromStore } from './events.ts';
import {
  recordRun,
  requireOwner,
  requireRun,
  runsBase,
  runsTag,
  type ImportRouteDeps,
  type RunParams,
} from './import-runs-deps.ts';
import { changing } from './plugin-configs-deps.ts';

/** Route that undoes a run. */
export function importRunUndoRoutes(deps: ImportRouteDeps): ApiRoute[] {
  const act = changing(deps, async (work, { params }: ApiRequest<RunParams>) => {
    const owner = await requireOwner(work, params.id);
    const run = await requireRun(work.tx, work.projectId, params);
    refuseElsewhere(run);
    const steered = await guarded(() => undoRun(work.tx, run.id));
    await recordRun(work, owner, 'undo', steered);
    return { status: 202, body: toRunRecord(steered, work.now) } satisfies ApiReply;
  });
  return [
    apiRoute({
      method: 'POST',
      path: `${runsBase}/:run/undo`,
      scope: 'import_undo:write',
      tag: runsTag,
      summary: 'Undo an import run',
      description:
        'Deletes the events that the run stored, and only those; persons and groups are rebuilt from their remaining events. With ' +
        '`dry_run`, only reports what would be done (200). Otherwise the run continues in the stage `undo` (202) and ends as ' +
        '`undone`. It cannot be cancelled halfway. Honours Idempotency-Key.',
      params: importRunIdSchema,
      body: importUndoSchema,
      responses: { 200: importUndoPlanSchema, 202: importRunSchema },
      handler: async (request) => {
        if (request.body.dry_run !== true) return act(request);
        return { status: 200, body: await dryRun(deps, request) };
      },
    }),
  ];
}

async function dryRun({ db, store }: ImportRouteDeps, request: ApiRequest<RunParams>): Promise<UndoPlan> {
  const run = await requireRun(db, request.project().id, request.params);
  refuseElsewhere(run);
  const allowed = allowedActions(run);
  await guarded(async () => {
    if (!allowed.includes('undo')) throw new RunTransitionError({ run, action: 'undo', allowed });
  });
  if (store === undefined) throw new ApiError('unavailable', 'This process has no event store; use one that has.');
  return fromStore(() => planUndo({ db, store }, run));
}

/** Events in another service can only be undone there. */
function refuseElsewhere({ id, options: { target } }: Run): void {
  if (target.kind === 'project') return;
  throw new ApiError(
    'conflict',
    `Run ${id} sent its events to another service, which has to delete them: they have "$import_run_id": "${id}" ` +
      'there.',
  );
}
