import { importRunReportIdSchema, importRunReportSchema, importRunSchema } from '../../wire/contract/import-runs.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import { saveReport } from '../../imports/run/reported-runs.ts';
import { toRunRecord } from '../../imports/run/run-record.ts';
import { readDatabaseTime } from '../../stores/metadata/database-clock.ts';
import { commandLine, recordRun, runsTag, type ImportRouteDeps } from './import-runs-deps.ts';
import { changing } from './plugin-configs-deps.ts';

/** Runs of the command line: what they load is stored here, and their command reports how far they are. */
export function reportedRunRoutes(deps: ImportRouteDeps): ApiRoute[] {
  return [
    apiRoute({
      method: 'PUT',
      path: '/api/projects/:project_id/import_runs/:run',
      scope: 'plugin:write',
      tag: runsTag,
      summary: 'Report an import run of the command line',
      description:
        '`millrace import` makes its run known with this, reports its progress every few seconds, and thereby makes it a run of ' +
        'the service: listed with config 0, and undone by what the service stores under its id. The same report again changes ' +
        'nothing. Without a report for a minute the run counts as paused. The answer is the run as it stands: one that was ' +
        'paused, cancelled or undone here stays so, whatever a report says; only one with `begin` resumes a paused run, and is a ' +
        'conflict for a cancelled or undone one.',
      params: importRunReportIdSchema,
      body: importRunReportSchema,
      responses: { 200: importRunSchema, 201: importRunSchema },
      handler: changing(deps, async (work, { params, body }) => {
        const { tx, projectId } = work;
        const now = await readDatabaseTime(tx);
        const { run, isNew } = await saveReport(tx, { id: params.run, projectId, report: body, now });
        if (body.begin === true) await recordRun(work, commandLine, isNew ? 'run' : 'resume', run);
        return { status: isNew ? 201 : 200, body: toRunRecord(run, work.now) };
      }),
    }),
  ];
}
