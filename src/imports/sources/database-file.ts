import { SourceError, type SourceHost, type SourcePart } from '../source.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { wrongSetting } from '../../plugins/plugin.ts';
import { neededSetting } from '../../plugins/setting-values.ts';
import { checkPaths, findFiles, lookAt, readablePath, type FoundFile } from './find-files.ts';

/** What sources have in common that read the rows of a query to one database file. */

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
  /** Without what may end a statement. */
  readonly query: string;
}

/** Throws SettingsError. */
export function databaseFileSettings(settings: SettingValues, host: SourceHost): DatabaseFileSettings {
  const path = neededSetting(settings, 'path');
  const query = neededSetting(settings, 'query').replace(/[;\s]+$/, '');
  checkPaths([path], host);
  return { path, query };
}

/** The one file at the path. Throws SettingsError when there are several. */
export async function findDatabaseFile(path: string, host: SourceHost, signal: AbortSignal): Promise<FoundFile> {
  const [file, second] = await findFiles([path], host, signal);
  if (file === undefined || second !== undefined) {
    throw wrongSetting('path', `expected one file, got several at ${path}`);
  }
  return file;
}

/** Where a file lies, and what it is called to people. */
export interface FilePlace {
  readonly path: string;
  readonly shown: string;
}

/** The file that a part was listed with. Throws SourceError when it is none, or another file has taken its place. */
export async function databaseFileOf({ key, detail = {} }: SourcePart, host: SourceHost): Promise<FilePlace> {
  const { path, shown } = detail;
  if (typeof path !== 'string' || typeof shown !== 'string') throw new SourceError(`${key} is no database file`);
  const file = await lookAt(path, shown, host);
  if (file.path !== path) throw new SourceError(`${shown} is another file than the one that was listed`);
  return { path: await readablePath(file, host), shown };
}
