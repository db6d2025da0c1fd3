import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { inFolder } from '../../../test/support/guide-import.ts';
import { describeImport, listImports, openImport } from './state-dir.ts';
import { requestOf } from './request.ts';

it('an import from before ids were stored in a file is listed and resumed under its name', () =>
  inFolder(async (folder) => {
    const identity = '0123456789abcdef';
    const given = { source: 'files', to: 'http://127.0.0.1:9/', projectKey: 'phc_test' };
    const dir = await openImport(folder, identity, false);
    await describeImport(dir, requestOf('mixpanel', ['a.ndjson'], given, folder), {
      cwd: folder,
      name: 'millrace import',
      words: [],
    });
    expect((await openImport(folder, identity, false)).id).toBe(dir.id);
    await rm(join(dir.path, 'run-id'));
    expect((await listImports(folder)).map(({ id }) => id)).toEqual([identity]);
    expect((await openImport(folder, identity, false)).id).toBe(identity);
  }));
