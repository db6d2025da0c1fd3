import { SourceError, type Source, type SourceContext, type SourceHost, type SourcePart } from '../source.ts';
import { readRecordFile } from '../records/read-records.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { defineImportSource } from '../../plugins/plugin.ts';
import { textSetting } from '../../plugins/setting-values.ts';
import { checkPaths, findFiles, lookAt, shortKey, type FoundFile } from './find-files.ts';

/** What is read, for every source of files: said once. */
export const fileKinds =
  'NDJSON, JSON arrays, batch objects, CSV with a header and Parquet, plain or in gzip, zstd or zip. What a file is is seen by its content.';

/** Files on disk and uploaded ones. */
export const files = defineImportSource({
  slug: 'files',
  name: 'Files',
  description: `Imports files from disk, and files that were uploaded: ${fileKinds}`,
  fields: [
    {
      key: 'paths',
      name: 'Paths',
      type: 'string',
      required: true,
      hint:
        'One a line: a file, a directory (all files below it, by name), a pattern such as /data/2024-*.json.gz, or upload:name for ' +
        'an uploaded file (upload:* for all). The service reads only directories that its operator allows.',
    },
  ],
  formats: [],
  range: undefined,
  example: { paths: 'upload:events.json.gz' },
  createSource,
});

function createSource(settings: SettingValues, host: SourceHost): Source {
  const paths = textSetting(settings, 'paths')
    .split('\n')
    .map((path) => path.trim())
    .filter((path) => path !== '');
  checkPaths(paths, host);
  return {
    concurrency: 2,
    async listParts() {
      return (await findFiles(paths, host)).map(partOf);
    },
    async *open(part: SourcePart, { signal }: SourceContext) {
      const { path, shown } = part.detail ?? {};
      if (typeof path !== 'string' || typeof shown !== 'string') throw new SourceError(`${part.key} is no file`);
      // Allowed and the same as when it was listed, now that it is opened.
      const file = await lookAt(path, shown, host);
      if (file.path !== path || file.identity !== part.identity) {
        throw new SourceError(`${shown} has changed while it was imported; leave it as it is and resume the run`);
      }
      yield* readRecordFile(file.path, { name: shown, signal, tempDir: host.tempDir });
    },
  };
}

function partOf({ shown, path, bytes, identity }: FoundFile): SourcePart {
  return { key: shortKey(shown), bytes, identity, stable: true, detail: { path, shown } };
}
