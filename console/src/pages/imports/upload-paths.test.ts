import { expect, it } from 'vitest';
import { withUpload } from './upload-paths.ts';

it('uploads are sorted by name regardless of arrival, without duplicates, after other paths', () => {
  let paths = '/data/z.ndjson';
  for (const name of ['c', 'a', 'b', 'a']) paths = withUpload(paths, `upload:${name}.ndjson`);
  expect(paths.split('\n')).toEqual(['/data/z.ndjson', 'upload:a.ndjson', 'upload:b.ndjson', 'upload:c.ndjson']);
});
