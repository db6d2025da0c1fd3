import { counted } from '../../base/integer-text.ts';
import type { Command } from 'commander';
import { addBucketOptions, countsText, placeFrom, runBackupJob, type BucketOptions } from '../backup-options.ts';
import { addSettingOptions, settingsFrom } from '../setting-options.ts';
import type { Terminal } from '../terminal.ts';

interface RestoreOptions extends BucketOptions {
  readonly from: string;
}

export function restoreCommand(parent: Command, terminal: Terminal): void {
  const command = addSettingOptions(parent.command('restore').option('--json', 'print JSON'), ['dataDir', 'logLevel']);
  addBucketOptions(
    command.requiredOption('--from <place>', 'backup created by "millrace backup": a directory, or s3://bucket/prefix'),
  ).action(async (options: RestoreOptions) => {
    const { settings } = settingsFrom(options, terminal.process);
    const report = await runBackupJob(settings, terminal, async (job) => {
      const { restoreDataDir } = await import('../../server/service/restore.ts');
      return await restoreDataDir(settings, placeFrom(options.from, options), job);
    });
    if (options.json === true) return terminal.json(report);
    const { files, bytes, counts, taken_at: at } = report;
    const { dataDir } = settings;
    terminal.data(`${dataDir} is as it was at ${at}: ${counted(files, 'file')}, ${counted(bytes, 'byte')}`);
    terminal.data(countsText(counts));
    terminal.data(`next: millrace serve --data-dir ${dataDir}`);
  });
}
