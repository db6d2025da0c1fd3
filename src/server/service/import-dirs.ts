/** Directories of imports, from the settings. */
import { mkdir, stat, statfs } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Settings } from '../config/settings.ts';
import type { Staging } from '../../imports/staging.ts';
import { openStaging, probeStaging, type StagingBucketSettings } from './stores.ts';

export interface ImportDirs {
  /** Directory or `s3://bucket/prefix`. */
  readonly staging: string;
  /** Directories from which files may be read. */
  readonly allowed: readonly string[];
  /** Uploaded files, a directory per project. `undefined` if they are in staging, a bucket that every process can read. */
  readonly uploads: string | undefined;
  /** Files needed on disk while they are read; a directory per run. */
  readonly temp: string;
}

export function importDirs(settings: Pick<Settings, 'dataDir' | 'importStaging' | 'importDirs'>): ImportDirs {
  const named = settings.importDirs
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  return {
    staging: settings.importStaging || join(settings.dataDir, 'imports'),
    allowed: (named.length > 0 ? named : [join(settings.dataDir, 'import-files')]).map((each) => resolve(each)),
    // Not below a directory that every project may read.
    uploads: isBucket(settings.importStaging) ? undefined : resolve(settings.dataDir, 'import-uploads'),
    temp: resolve(settings.dataDir, 'import-temp'),
  };
}

/** @throws an error if the location is invalid or cannot be created */
export async function openImportStaging(settings: Settings): Promise<Staging> {
  const dirs = importDirs(settings);
  if (dirs.uploads !== undefined) await mkdir(dirs.uploads, { recursive: true, mode: 0o700 });
  return openServiceStaging(dirs.staging, settings);
}

/** Opens a directory, or a bucket with the keys of MILLRACE_IMPORT_STAGING. */
export async function openServiceStaging(place: string, settings: Settings): Promise<Staging> {
  return openStaging(place, bucketOf(settings));
}

/** Checks a bucket with the keys of MILLRACE_IMPORT_STAGING without writing to it. @throws an error that names the fault */
export async function probeServiceStaging(place: string, settings: Settings): Promise<void> {
  await probeStaging(place, bucketOf(settings));
}

function bucketOf(settings: Settings): StagingBucketSettings {
  const { importStagingEndpoint: endpoint, importStagingRegion: region } = settings;
  const { importStagingAccessKeyId: accessKeyId, importStagingSecretAccessKey: secretAccessKey } = settings;
  return {
    region,
    ...(endpoint === '' ? {} : { endpoint, forcePathStyle: true }),
    ...(accessKeyId === '' ? {} : { keys: { accessKeyId, secretAccessKey } }),
  };
}

function isBucket(staging: string): boolean {
  return staging.includes('://');
}

/** `undefined` if staging is a bucket. */
export async function freeStagingBytes({ staging }: ImportDirs): Promise<number | undefined> {
  if (isBucket(staging)) return undefined;
  const { bavail, bsize } = await statfs(staging);
  return bavail * bsize;
}

/** Whether the embedded event store, which contains the tables of runs, shares its disk with staging. */
export async function tablesBesideStaging(
  settings: Pick<Settings, 'clickhouseUrl' | 'dataDir' | 'importStaging' | 'importDirs'>,
): Promise<boolean> {
  const { staging } = importDirs(settings);
  if (settings.clickhouseUrl !== '' || isBucket(staging)) return false;
  const [ofStore, ofStaging] = await Promise.all([stat(settings.dataDir), stat(staging)]);
  return ofStore.dev === ofStaging.dev;
}
