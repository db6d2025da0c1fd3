import { counted } from '../../base/integer-text.ts';
import type { Command } from 'commander';
import { addBucketOptions, countsText, placeFrom, runBackupJob, type BucketOptions } from '../backup-options.ts';
import { addSettingOptions, settingsFrom } from '../setting-options.ts';
import type { Terminal } from '../terminal.ts';

interface BackupOptions extends BucketOptions {
  readonly to: string;
}

export function backupCommand(parent: Command, terminal: Terminal): void {
  const command = addSettingOptions(parent.command('backup').option('--json', 'print JSON'), ['dataDir', 'logLevel']);
  addBucketOptions(command.requiredOption('--to <place>', 'empty directory, or s3://bucket/prefix')).action(
    async (options: BackupOptions) => {
      const { settings } = settingsFrom(options, terminal.process);
      const report = await runBackupJob(settings, terminal, async (job) => {
        const { backupDataDir } = await import('../../server/service/backup.ts');
        return await backupDataDir(settings, placeFrom(options.to, options), job);
      });
      if (options.json === true) return terminal.json(report);
      const { files, bytes, counts, taken_at: at } = report;
      terminal.data(`${options.to} is complete: ${counted(files, 'file')}, ${counted(bytes, 'byte')}, as of ${at}`);
      terminal.data(countsText(counts));
    },
  );
}
