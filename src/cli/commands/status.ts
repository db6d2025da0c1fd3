import type { Command } from 'commander';
import type { LaneStatus, ProjectStatus, ServiceStatus } from '../../wire/contract/status.ts';
import { addApiOptions, projectApi, type ApiOptions } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import { showRecord, showTable } from '../output.ts';
import { numberText } from '../progress-line.ts';
import type { Terminal } from '../terminal.ts';

export function statusCommand(parent: Command, terminal: Terminal): void {
  addApiOptions(parent.command('status'))
    .option('--service', 'show the whole service: processes, components, disk (operators only)')
    .action(async ({ service, ...options }: ApiOptions & { readonly service?: boolean }) => {
      const api = projectApi(options);
      if (service === true) {
        const found = await api.get<ServiceStatus>('/api/status/');
        await showRecord(terminal, options, found, () => showService(terminal, found));
        return failUnlessOk(found.status);
      }
      const found = await api.get<ProjectStatus>(`${api.root}/status/`);
      await showRecord(terminal, options, found, () => showProject(terminal, found));
      failUnlessOk(found.status);
    });
}

/** Reports the state as the exit code, for scripts. */
function failUnlessOk(status: ProjectStatus['status']): void {
  if (status === 'unavailable') throw new CommandError('unreachable', 'a component that events require has failed');
}

/** Shows the lanes and what needs attention. */
export function showProject(terminal: Terminal, { status, lanes, attention }: ProjectStatus): void {
  terminal.data(`status: ${status}`);
  showLanes(terminal, lanes);
  if (attention.length === 0) return terminal.data('nothing needs attention');
  for (const { severity, summary, action } of attention) {
    const colour = severity === 'error' ? 'red' : 'yellow';
    terminal.data(`${terminal.styled(colour, severity)}: ${summary} ${action}`);
  }
}

function showLanes(terminal: Terminal, lanes: ProjectStatus['lanes']): void {
  const rows: { readonly name: string; readonly lane: LaneStatus }[] = [
    { name: 'live', lane: lanes.live },
    { name: 'historical', lane: lanes.historical },
  ];
  showTable(terminal, rows, {
    LANE: ({ name }) => name,
    'IN /S': ({ lane }) => numberText(Math.round(lane.received_per_second)),
    'STORED /S': ({ lane }) => numberText(Math.round(lane.stored_per_second)),
    WAITING: ({ lane }) => numberText(lane.waiting_events),
    'LAG S': ({ lane }) => String(Math.round(lane.lag_seconds)),
    FULL: ({ lane }) => (lane.is_full ? 'yes: new events are refused' : 'no'),
  });
}

function showService(terminal: Terminal, found: ServiceStatus): void {
  const { status, version, lanes, processes, parts: components, disk, errors } = found;
  terminal.data(`status: ${status}, version ${version}, up ${numberText(found.uptime_seconds)} s`);
  showLanes(terminal, lanes);
  showTable(terminal, components, {
    COMPONENT: ({ name }) => name,
    STATE: ({ ok, required }) => (ok ? 'ok' : required ? 'failed, required for events' : 'failed'),
    DETAIL: ({ detail }) => detail || '-',
  });
  showTable(terminal, processes, {
    PROCESS: ({ name }) => name,
    ROLES: ({ roles }) => roles.join(', '),
    VERSION: (each) => each.version,
    'SILENT S': ({ silent_seconds: seconds }) => String(seconds),
  });
  const gigabyte = 1024 ** 3;
  terminal.data(
    `disk: ${(disk.free_bytes / gigabyte).toFixed(1)} of ${(disk.total_bytes / gigabyte).toFixed(1)} GiB free`,
  );
  for (const { component, error_type: type, last_minute: count } of errors) {
    if (count > 0) terminal.data(`errors in the last minute: ${component} ${type} ${count}`);
  }
}
