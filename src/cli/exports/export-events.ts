import { setTimeout as sleep } from 'node:timers/promises';
import type { ExportEstimate, ExportRecord } from '../../wire/contract/exports.ts';
import { projectApi, type ProjectApi } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import { showFields, showRecord } from '../output.ts';
import { bar, numberText, startProgressLine } from '../progress-line.ts';
import { runUntilStopped } from '../stop-signal.ts';
import type { Terminal } from '../terminal.ts';
import { downloadExport } from './download-export.ts';
import { exportBody, type ExportOptions } from './export-options.ts';

export interface StartOptions extends ExportOptions {
  readonly dryRun?: boolean;
  readonly detach?: boolean;
  readonly keep?: boolean;
}

const pollMs = 1000;

/** Starts an export, waits for it and downloads its files. */
export async function exportEvents(terminal: Terminal, options: StartOptions): Promise<void> {
  const api = projectApi(options);
  const body = exportBody(options);
  const { to, detach = false, dryRun = false, destination } = options;
  if (to !== undefined && (destination !== undefined || detach)) {
    throw new CommandError('usage', '--to: expected no --destination and no --detach, which leave nothing to download');
  }
  if (dryRun) {
    const estimate = await api.send<ExportEstimate>('POST', `${api.root}/exports/estimate/`, body);
    return showRecord(terminal, options, estimate, () => showEstimate(terminal, estimate));
  }
  if (to === undefined && destination === undefined && !detach) {
    throw new CommandError(
      'usage',
      'expected --to DIR, --destination @FILE, or --detach, which keeps the files in the service',
    );
  }
  const started = await api.send<ExportRecord>('POST', `${api.root}/exports/`, body);
  const shown = (record: ExportRecord): Promise<void> =>
    showRecord(terminal, options, record, () => showExport(terminal, record));
  if (detach) return shown(started);
  terminal.note(`export ${started.id} started; if this command is interrupted, it continues in the service`);
  await runUntilStopped(terminal.process, async (signal) => {
    const done = await waitForExport(terminal, api, started.id, signal);
    if (to !== undefined) await downloadTo(terminal, { api, dir: to, signal, keep: options.keep === true }, done);
    await shown(done);
  });
}

interface DownloadTo {
  readonly api: ProjectApi;
  readonly dir: string;
  readonly signal: AbortSignal;
  /** Keeps the files in the service. */
  readonly keep: boolean;
}

/** Downloads an export, and then deletes it in the service, where it is no longer needed. */
export async function downloadTo(terminal: Terminal, to: DownloadTo, record: ExportRecord): Promise<void> {
  const files = (record.progress?.parts.length ?? 0) + 1;
  let downloaded = 0;
  const line = startProgressLine(
    () => `downloading ${bar(downloaded / files)} ${downloaded} of ${files} files`,
    terminal.process.stderr,
  );
  try {
    await downloadExport({ ...to, onFile: () => void (downloaded += 1) }, record);
  } finally {
    line.stop();
  }
  if (!to.keep) await to.api.send('DELETE', `${to.api.root}/exports/${record.id}/`);
  terminal.note(`${numberText(files)} files in ${to.dir}`);
}

/** Errors: failed, with the reason, if the export failed or was cancelled. */
async function waitForExport(
  terminal: Terminal,
  api: ProjectApi,
  id: string,
  signal: AbortSignal,
): Promise<ExportRecord> {
  let record = await api.get<ExportRecord>(`${api.root}/exports/${id}/`);
  const line = startProgressLine(() => progressText(record), terminal.process.stderr);
  try {
    while (record.state === 'queued' || record.state === 'running') {
      await sleep(pollMs, undefined, { signal });
      record = await api.get<ExportRecord>(`${api.root}/exports/${id}/`);
    }
  } finally {
    line.stop();
  }
  if (record.state === 'done') return record;
  throw new CommandError(
    'failed',
    `the export ${record.state === 'failed' ? `failed: ${record.error}` : 'was cancelled'}`,
  );
}

function progressText({ state, error, progress }: ExportRecord): string {
  if (progress === null) return `export ${state} ${error}`.trimEnd();
  const rows = rowsOf(progress.parts.filter(({ table }) => table === 'events'));
  const share = progress.events === 0 ? 1 : rows / progress.events;
  const text = `exporting ${bar(Math.min(1, share))} ${numberText(rows)} of ${numberText(progress.events)} events`;
  return `${text}, ${numberText(progress.parts.length)} files ${error}`.trimEnd();
}

function rowsOf(parts: readonly { readonly rows: number }[]): number {
  return parts.reduce((sum, { rows }) => sum + rows, 0);
}

export function showExport(terminal: Terminal, record: ExportRecord): void {
  const { id, state, error, request, progress, result, created_at, ended_at } = record;
  const rows =
    result === null ? '-' : Object.entries(result.rows).map(([name, count]) => `${numberText(count)} ${name}`);
  showFields(terminal, {
    export: id,
    state: error === '' ? state : `${state}: ${error}`,
    tables: request.tables.join(', '),
    format: `${request.format}, ${request.compression}, shape ${request.shape}`,
    destination: request.destination.kind,
    rows: [rows].flat().join(', '),
    files: numberText(progress?.parts.length ?? 0),
    bytes: numberText(result?.bytes ?? 0),
    'received before': progress?.received_before ?? '-',
    'runs excluded': progress?.unfinished_runs.join(', ') || '-',
    created: created_at,
    ended: ended_at ?? '-',
  });
}

function showEstimate(terminal: Terminal, estimate: ExportEstimate): void {
  const { events, bytes, from, to, persons, groups, unfinished_runs: runs } = estimate;
  showFields(terminal, {
    events: numberText(events),
    'bytes of properties': numberText(bytes),
    from: from ?? '-',
    to: to ?? '-',
    persons: persons === null ? '-' : numberText(persons),
    groups: groups === null ? '-' : numberText(groups),
    'runs excluded': runs.join(', ') || '-',
  });
}
