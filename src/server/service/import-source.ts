/** The source of an import app config from the metadata store. */
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Settings } from '../config/settings.ts';
import { RunFailedError } from '../../imports/run/leased-run.ts';
import { SourceError, type Source, type SourceHost } from '../../imports/source.ts';
import type { Staging } from '../../imports/staging.ts';
import { createUploadCopies } from '../../imports/uploads/upload-copies.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { AllowList } from '../../plugins/outbound/allow-list.ts';
import { resolveAllowed } from '../../plugins/outbound/resolve-allowed.ts';
import { builtInRegistry } from '../../plugins/built-in/registry.ts';
import { missingRequired, withDefaults } from '../../plugins/check-settings.ts';
import { findAnyConfig } from '../../plugins/configs/stored-config.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { isImportSource, SettingsError, type ImportSourcePlugin } from '../../plugins/plugin.ts';
import type { ImportDirs } from './import-dirs.ts';

export interface ImportSourceDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly dirs: ImportDirs;
  readonly staging: Staging;
  readonly allow: AllowList;
  readonly stream: SourceHost['stream'];
  readonly settings: Pick<Settings, 'importMachineCredentials'>;
}

export interface SourceOwner {
  readonly projectId: number;
  readonly configId: number;
}

/** Uses the current settings, so that a renewed key applies. @throws RunFailedError */
export async function openImportSource(
  deps: ImportSourceDeps,
  { projectId, configId }: SourceOwner,
  tempDir: string,
): Promise<Source> {
  const config = await findAnyConfig(deps.db, configId, deps.clock.now());
  if (config === undefined || config.projectId !== projectId) {
    throw new RunFailedError('expected the config that this run belongs to, got none: it was deleted; start a new run');
  }
  const plugin = builtInRegistry.get(config.plugin.slug);
  if (plugin === undefined || !isImportSource(plugin)) {
    throw new RunFailedError(
      `expected "${config.plugin.name}" to be an import source of this program, got another plugin`,
    );
  }
  const missing = missingRequired(plugin.fields, config.settings);
  if (missing.length > 0) {
    throw new RunFailedError(
      `expected the settings ${missing.join(', ')} of the config, got none; set them and resume`,
    );
  }
  return openSourceOf(deps, { projectId, plugin, settings: config.settings }, tempDir);
}

/** Opens a source with these settings, of a config that need not be stored. @throws SettingsError */
export function openSourceOf(
  deps: ImportSourceDeps,
  of: { readonly projectId: number; readonly plugin: ImportSourcePlugin; readonly settings: SettingValues },
  tempDir: string,
): Source {
  const { plugin, projectId } = of;
  return plugin.createSource(withDefaults(plugin.fields, of.settings), sourceHost(deps, projectId, tempDir));
}

/** Opens a table that a run joins, as the app `files` of the project may read it. @throws SourceError */
export function openTableSource(deps: ImportSourceDeps, projectId: number, tempDir: string, path: string): Source {
  const files = builtInRegistry.get('files');
  if (files === undefined || !isImportSource(files)) throw new Error('expected the import source files to be built in');
  try {
    return files.createSource({ paths: path }, sourceHost(deps, projectId, tempDir));
  } catch (cause) {
    if (!(cause instanceof SettingsError)) throw cause;
    throw new SourceError(cause.message, { cause });
  }
}

function sourceHost(
  { db, clock, dirs, staging, allow, stream, settings }: ImportSourceDeps,
  projectId: number,
  tempDir: string,
): SourceHost {
  const uploads =
    dirs.uploads === undefined
      ? { uploads: createUploadCopies({ db, staging }, { projectId, dir: join(tempDir, 'uploads') }) }
      : { uploadsDir: join(dirs.uploads, String(projectId)) };
  return {
    stream,
    allowedDirs: dirs.allowed,
    ...uploads,
    resolve: async (host, port) => (await resolveAllowed(host, port, allow)).address,
    machineCredentials: settings.importMachineCredentials,
    now: () => clock.now(),
    tempDir,
  };
}
