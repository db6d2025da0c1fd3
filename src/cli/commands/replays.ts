import { setTimeout as sleep } from 'node:timers/promises';
import { Option, type Command } from 'commander';
import type { Static } from 'typebox';
import { eventReplaySchemas, replayMethods, type EventReplayStart } from '../../wire/contract/event-replays.ts';
import { taskSchema } from '../../wire/contract/tasks.ts';
import { addApiOptions, listUpTo, projectApi, type ApiOptions, type ProjectApi } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import { showFields, showList, showRecord, showTable } from '../output.ts';
import { bar, numberText, startProgressLine } from '../progress-line.ts';
import { countOf } from '../read-arguments.ts';
import { addSelectionOptions, selectionOf, type SelectionOptions } from '../selection-options.ts';
import { runUntilStopped } from '../stop-signal.ts';
import type { Terminal } from '../terminal.ts';

const replaySchema = taskSchema(eventReplaySchemas);
type EventReplay = Static<typeof replaySchema>;

interface Options extends ApiOptions {
  readonly limit: string;
}

interface StartOptions extends ApiOptions, SelectionOptions {
  readonly config: string;
  readonly method?: EventReplayStart['method'];
  readonly rate?: string;
  readonly detach?: boolean;
}

const pollMs = 1000;

export function replaysCommand(parent: Command, terminal: Terminal): void {
  const replays = parent.command('replays');
  addStart(replays, terminal);
  const idOf = (command: Command): Command => addApiOptions(command).argument('<id>', 'id of the replay');
  const show = (options: ApiOptions, record: EventReplay): Promise<void> =>
    showRecord(terminal, options, record, () => showReplay(terminal, record));

  addApiOptions(replays.command('list'))
    .option('--limit <number>', 'number of replays', '20')
    .description('list replays of stored events, newest first')
    .action(async (options: Options) => {
      const api = projectApi(options);
      const max = countOf('--limit', options.limit, 1);
      const found = await listUpTo<EventReplay>(api, `${api.root}/event_replays/`, {}, max);
      await showList(terminal, options, found, () => showReplays(terminal, found));
    });

  idOf(replays.command('show'))
    .description('show a replay with its progress')
    .action(async (id: string, options: ApiOptions) => {
      const api = projectApi(options);
      await show(options, await api.get<EventReplay>(pathOf(api, id)));
    });

  idOf(replays.command('cancel'))
    .description('cancel a replay; events that were not delivered stay undelivered')
    .action(async (id: string, options: ApiOptions) => {
      const api = projectApi(options);
      await show(options, await api.send<EventReplay>('POST', `${pathOf(api, id)}cancel/`));
    });
}

function pathOf({ root }: ProjectApi, id: string): string {
  return `${root}/event_replays/${encodeURIComponent(id)}/`;
}

function addStart(replays: Command, terminal: Terminal): void {
  addSelectionOptions(addApiOptions(replays.command('start')))
    .requiredOption('--config <id>', 'plugin config that receives the events')
    .addOption(new Option('--method <name>', 'required if the plugin has both').choices(replayMethods))
    .option('--rate <number>', 'maximum events per second; default: as fast as the plugin')
    .option('--detach', 'only start the replay; "replays show" has its progress')
    .description('pass stored events to onEvent or exportEvents of a plugin, oldest first')
    .action(async (options: StartOptions) => {
      const api = projectApi(options);
      const { method, rate, detach = false } = options;
      const body: EventReplayStart = {
        plugin_config: countOf('--config', options.config, 1),
        ...(method && { method }),
        selection: selectionOf(options),
        ...(rate !== undefined && { events_per_second: countOf('--rate', rate, 1) }),
      };
      const started = await api.send<EventReplay>('POST', `${api.root}/event_replays/`, body);
      const shown = (record: EventReplay) => showRecord(terminal, options, record, () => showReplay(terminal, record));
      if (detach) return shown(started);
      terminal.note(`replay ${started.id} started; if this command is interrupted, it continues in the service`);
      await runUntilStopped(terminal.process, async (signal) => {
        const ended = await waitForReplay(terminal, api, started, signal);
        await shown(ended);
        if (ended.state === 'done' && (ended.result?.failed ?? 0) === 0) return;
        throw new CommandError('failed', endText(ended));
      });
    });
}

async function waitForReplay(
  terminal: Terminal,
  api: ProjectApi,
  started: EventReplay,
  signal: AbortSignal,
): Promise<EventReplay> {
  let record = started;
  const line = startProgressLine(() => progressText(record), terminal.process.stderr);
  try {
    while (record.state === 'queued' || record.state === 'running') {
      await sleep(pollMs, undefined, { signal });
      record = await api.get<EventReplay>(pathOf(api, started.id));
    }
  } finally {
    line.stop();
  }
  return record;
}

function progressText({ state, error, progress }: EventReplay): string {
  if (progress === null) return `replay ${state} ${error}`.trimEnd();
  const { total, delivered, failed, events_per_second: speed } = progress;
  const share = total === 0 ? 1 : Math.min(1, (delivered + failed) / total);
  const counts = `${numberText(delivered)} of ${numberText(total)} events, ${numberText(failed)} failed`;
  return `replaying ${bar(share)} ${counts}, ${numberText(Math.round(speed))}/s ${error}`.trimEnd();
}

function endText({ state, error, result }: EventReplay): string {
  if (state === 'cancelled') return 'the replay was cancelled';
  if (state === 'failed') return `the replay failed: ${error}`;
  const failed = numberText(result?.failed ?? 0);
  return `the plugin rejected ${failed} events; they are kept as failed jobs of the config, which can be retried`;
}

function showReplay(terminal: Terminal, record: EventReplay): void {
  const { id, state, error, request, progress, created_at, ended_at } = record;
  showFields(terminal, {
    replay: id,
    state: error === '' ? state : `${state}: ${error}`,
    config: String(request.plugin_config),
    method: request.method,
    selection: JSON.stringify(request.selection),
    events: numberText(progress?.total ?? 0),
    delivered: numberText(progress?.delivered ?? 0),
    failed: numberText(progress?.failed ?? 0),
    'failed jobs': progress?.failed_jobs.join(', ') || '-',
    created: created_at,
    ended: ended_at ?? '-',
  });
}

function showReplays(terminal: Terminal, replays: readonly EventReplay[]): void {
  showTable(terminal, replays, {
    REPLAY: ({ id }) => id,
    STATE: ({ state }) => state,
    CONFIG: ({ request }) => String(request.plugin_config),
    METHOD: ({ request }) => request.method,
    EVENTS: ({ progress }) => numberText(progress?.total ?? 0),
    DELIVERED: ({ progress }) => numberText(progress?.delivered ?? 0),
    FAILED: ({ progress }) => numberText(progress?.failed ?? 0),
    CREATED: ({ created_at }) => created_at,
    ERROR: ({ error }) => error || '-',
  });
}
