import type { Command } from 'commander';
import {
  projectLimitNames,
  type ProjectLimitName,
  type ProjectLimitsChange,
  type ProjectLimitsRecord,
} from '../../wire/contract/project-limits.ts';
import { addOpenApiOptions, refusedAs, withApi, type OpenApiOptions } from '../open-api.ts';
import { showRecord, showTable, type OutputOptions } from '../output.ts';
import { numberText } from '../progress-line.ts';
import { countOf } from '../read-arguments.ts';
import type { Terminal } from '../terminal.ts';
import { noProject, onePath } from '../project-path.ts';

interface LimitsOptions extends OutputOptions, OpenApiOptions {
  readonly eventsPerSecond?: string;
  readonly bytesPerSecond?: string;
  readonly backlogBytes?: string;
}

const byDefault = 'default';
const unlimited = 'unlimited';

export function limitsCommand(projects: Command, terminal: Terminal): void {
  const values = `"${unlimited}", or "${byDefault}" for that of the service`;
  addOpenApiOptions(projects.command('limits'))
    .description(
      'show what a project may send to each lane, or change it with options; processes apply it within seconds',
    )
    .argument('<id>', 'number of the project')
    .option('--events-per-second <limit>', `events, ${values}`)
    .option('--bytes-per-second <limit>', `body bytes as received, ${values}`)
    .option('--backlog-bytes <limit>', `body bytes that wait until they are stored, ${values}`)
    .action(async (id: string, options: LimitsOptions) => {
      const path = `${onePath(id)}limits/`;
      const change = changeOf(options);
      const isChange = Object.keys(change).length > 0;
      const record = await withApi(options, terminal, (api) =>
        (isChange ? api.send<ProjectLimitsRecord>('PATCH', path, change) : api.get<ProjectLimitsRecord>(path)).catch(
          refusedAs(noProject(id)),
        ),
      );
      await showRecord(terminal, options, record, () => showLimits(terminal, record));
    });
}

/** Errors: usage. */
function changeOf({ eventsPerSecond, bytesPerSecond, backlogBytes }: LimitsOptions): ProjectLimitsChange {
  return {
    ...(eventsPerSecond !== undefined && { events_per_second: limitOf('--events-per-second', eventsPerSecond) }),
    ...(bytesPerSecond !== undefined && { bytes_per_second: limitOf('--bytes-per-second', bytesPerSecond) }),
    ...(backlogBytes !== undefined && { backlog_bytes: limitOf('--backlog-bytes', backlogBytes) }),
  };
}

function limitOf(option: string, text: string): number | null {
  if (text === byDefault) return null;
  return text === unlimited ? 0 : countOf(option, text, 1);
}

function showLimits(terminal: Terminal, record: ProjectLimitsRecord): void {
  showTable<ProjectLimitName>(terminal, projectLimitNames, {
    LIMIT: (name) => name,
    VALUE: (name) => valueText(record[name] ?? record.defaults[name]),
    FROM: (name) => (record[name] === null ? 'service' : 'project'),
  });
}

function valueText(limit: number): string {
  return limit === 0 ? unlimited : numberText(limit);
}
