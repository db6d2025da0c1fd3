import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { importDirs, probeServiceStaging } from '../import-dirs.ts';
import type { Settings } from '../../config/settings.ts';
import { definePart, nothingOpen } from './check.ts';

interface StorageSubject extends AsyncDisposable {
  readonly settings: Settings;
  readonly place: string;
}

export const storagePart = definePart<StorageSubject>({
  title: 'Files of imports',
  applies: ({ settings: { roles } }) => roles.includes('api') || roles.includes('jobs'),
  open: async ({ settings }) => ({ settings, place: importDirs(settings).staging, ...nothingOpen }),
  checks: {
    import_storage: {
      checks: 'the directory or bucket of `MILLRACE_IMPORT_STAGING` can be listed and written',
      severity: 'failed',
      advice:
        'Correct `MILLRACE_IMPORT_STAGING…`, create the bucket, or permit ListBucket, GetObject, PutObject and DeleteObject below its prefix.',
      find: async ({ settings, place }) => {
        if (!place.includes('://')) return writableDirectory(place);
        await probeServiceStaging(place, settings);
        return place;
      },
    },
  },
});

function writableDirectory(place: string): string {
  let path = resolve(place);
  while (!existsSync(path)) path = dirname(path);
  accessSync(path, constants.W_OK | constants.X_OK);
  return resolve(place);
}
