import { SourceError, type SourceHost, type SourcePart } from '../source.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { wrongSetting } from '../../plugins/plugin.ts';
import { neededSetting } from '../../plugins/setting-values.ts';
import { checkPaths, findFiles, statFile, readablePath, type FoundFile } from './find-files.ts';

/** Shared by sources that read the rows of a query to one database file. */

export const databaseFileFields = [
  {
    key: 'path',
    name: 'File',
    type: 'string',
    required: true,
    hint: 'Path of the database file, or upload:name for one that was uploaded. The service reads only directories that its operator allows.',
  },
  {
    key: 'query',
    name: 'Query',
    type: 'text',
    required: true,
    hint: 'One select whose rows are the records: select id, name, user_id, created_at from events order by id.',
  },
] as const;

interface DatabaseFileSettings {
  readonly path: string;
  /** Without a statement terminator. */
  readonly query: string;
}

/** Throws SettingsError. */
export function databaseFileSettings(settings: SettingValues, host: SourceHost): DatabaseFileSettings {
  const path = neededSetting(settings, 'path');
  const query = neededSetting(settings, 'query').replace(/[;\s]+$/, '');
  checkPaths([path], host);
  return { path, query };
}

/** Returns the only file at the path. Throws SettingsError if there are several. */
export async function findDatabaseFile(path: string, host: SourceHost, signal: AbortSignal): Promise<FoundFile> {
  const [file, second] = await findFiles([path], host, signal);
  if (file === undefined || second !== undefined) {
    throw wrongSetting('path', `expected one file, got several at ${path}`);
  }
  return file;
}

/** The path of a file and its displayed name. */
export interface FilePlace {
  readonly path: string;
  readonly shown: string;
}

/** Returns the file of a part. Throws SourceError if it is not a file or was replaced. */
export async function databaseFileOf({ key, detail = {} }: SourcePart, host: SourceHost): Promise<FilePlace> {
  const { path, shown } = detail;
  if (typeof path !== 'string' || typeof shown !== 'string') throw new SourceError(`${key} is not a database file`);
  const file = await statFile(path, shown, host);
  if (file.path !== path) throw new SourceError(`${shown} is not the file that was listed`);
  return { path: await readablePath(file, host), shown };
}
