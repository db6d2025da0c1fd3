import { Option, type Command } from 'commander';
import { importRunStates } from '../../wire/contract/import-run-states.ts';
import type { ImportRunRecord } from '../../wire/contract/import-runs.ts';
import type { ProjectRecord } from '../../wire/contract/projects.ts';
import { addApiOptions, listAll, listUpTo, projectApi, type ApiOptions } from '../api-options.ts';
import { showList, showTable } from '../output.ts';
import { numberText } from '../progress-line.ts';
import { countOf } from '../read-arguments.ts';
import type { Terminal } from '../terminal.ts';

interface Options extends Omit<ApiOptions, 'project'> {
  readonly project?: string;
  readonly state?: string;
  readonly limit: string;
}

/** A run with its project. */
type ListedRun = ImportRunRecord & { readonly project_id: number; readonly config_name?: string | null };

export function runsCommand(parent: Command, terminal: Terminal): void {
  addApiOptions(parent.command('runs'))
    .addOption(new Option('--state <state>', 'only in this state').choices(importRunStates))
    .option('--limit <number>', 'number of runs per project', '20')
    .action(async (options: Options) => {
      const runs = await listRuns(options);
      await showList(terminal, options, runs, () => showRuns(terminal, runs));
    });
}

async function listRuns({ project = '@current', ...options }: Options): Promise<readonly ListedRun[]> {
  const api = projectApi({ ...options, project });
  const max = countOf('--limit', options.limit, 1);
  const ids =
    project === '@current'
      ? (await listAll<ProjectRecord>(api, '/api/projects/')).map(({ id }) => id)
      : [Number(project)];
  const found = ids.map(async (id) => {
    const path = `/api/projects/${id}/import_runs/`;
    const runs = await listUpTo<ImportRunRecord>(api, path, { state: options.state }, max);
    return runs.map((run): ListedRun => Object.assign(run, { project_id: id }));
  });
  return (await Promise.all(found)).flat().toSorted((a, b) => b.created_at.localeCompare(a.created_at));
}

function showRuns(terminal: Terminal, runs: readonly ListedRun[]): void {
  showTable(terminal, runs, {
    RUN: ({ id }) => id,
    PROJECT: ({ project_id: id }) => String(id),
    CONFIG: (run) => `${run.plugin_config} ${run.config_name ?? ''}`.trim(),
    SOURCE: ({ source }) => source,
    STATE: ({ state, waiting }) => (waiting === null ? state : `${state}, waits`),
    STAGE: ({ stage }) => stage,
    RECORDS: ({ totals }) => numberText(totals.records),
    LOADED: ({ totals }) => numberText(totals.loaded),
    REJECTED: ({ totals }) => numberText(totals.rejected),
    CREATED: ({ created_at }) => created_at,
    REASON: ({ reason, waiting }) => waiting?.reason ?? (reason || '-'),
  });
}
