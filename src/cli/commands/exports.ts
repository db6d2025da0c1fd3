import type { Command } from 'commander';
import type { ExportRecord } from '../../wire/contract/exports.ts';
import { addApiOptions, listUpTo, projectApi, type ApiOptions } from '../api-options.ts';
import { confirm } from '../confirm.ts';
import { downloadTo, showExport } from '../exports/export-events.ts';
import { showList, showRecord, showTable } from '../output.ts';
import { numberText } from '../progress-line.ts';
import { countOf } from '../read-arguments.ts';
import { runUntilStopped } from '../stop-signal.ts';
import type { Terminal } from '../terminal.ts';

interface Options extends ApiOptions {
  readonly limit: string;
  readonly to: string;
  readonly keep?: boolean;
  readonly yes?: boolean;
}

export function exportsCommand(parent: Command, terminal: Terminal): void {
  const exports = parent.command('exports');
  const idOf = (command: Command): Command => addApiOptions(command).argument('<id>', 'id of the export');
  const pathOf = (root: string, id: string): string => `${root}/exports/${encodeURIComponent(id)}`;

  addApiOptions(exports.command('list'))
    .option('--limit <number>', 'number of exports', '20')
    .description('list exports, newest first')
    .action(async (options: Options) => {
      const api = projectApi(options);
      const found = await listUpTo<ExportRecord>(api, `${api.root}/exports/`, {}, countOf('--limit', options.limit, 1));
      await showList(terminal, options, found, () => showExports(terminal, found));
    });

  idOf(exports.command('show'))
    .description('show an export with its progress')
    .action(async (id: string, options: Options) => {
      const api = projectApi(options);
      const record = await api.get<ExportRecord>(`${pathOf(api.root, id)}/`);
      await showRecord(terminal, options, record, () => showExport(terminal, record));
    });

  idOf(exports.command('download'))
    .requiredOption('--to <dir>', 'directory; complete files in it are kept')
    .option('--keep', 'also keep the files in the service')
    .description('download the files of an export, check them, and delete them in the service')
    .action(async (id: string, options: Options) => {
      const api = projectApi(options);
      const record = await api.get<ExportRecord>(`${pathOf(api.root, id)}/`);
      await runUntilStopped(terminal.process, (signal) =>
        downloadTo(terminal, { api, dir: options.to, signal, keep: options.keep === true }, record),
      );
    });

  idOf(exports.command('cancel'))
    .description('cancel an export; its files are removed')
    .action(async (id: string, options: Options) => {
      const api = projectApi(options);
      const record = await api.send<ExportRecord>('POST', `${pathOf(api.root, id)}/cancel/`);
      await showRecord(terminal, options, record, () => showExport(terminal, record));
    });

  idOf(exports.command('delete'))
    .option('--yes', 'do not ask')
    .description('delete an export and its files')
    .action(async (id: string, options: Options) => {
      const api = projectApi(options);
      await confirm(terminal.process, `Delete the export ${id} with its files?`, options);
      await api.send('DELETE', `${pathOf(api.root, id)}/`);
    });
}

function showExports(terminal: Terminal, exports: readonly ExportRecord[]): void {
  showTable(terminal, exports, {
    EXPORT: ({ id }) => id,
    STATE: ({ state }) => state,
    TABLES: ({ request }) => request.tables.join(','),
    FORMAT: ({ request }) => request.format,
    DESTINATION: ({ request }) => request.destination.kind,
    EVENTS: ({ progress }) => (progress === null ? '-' : numberText(progress.events)),
    FILES: ({ progress }) => numberText(progress?.parts.length ?? 0),
    CREATED: ({ created_at }) => created_at,
    ERROR: ({ error }) => error || '-',
  });
}
