import { expect, it } from 'vitest';
import { withUpload } from './upload-paths.ts';

it('uploads stand by name, in whatever order they arrive, each once, behind other paths', () => {
  let paths = '/data/z.ndjson';
  for (const name of ['c', 'a', 'b', 'a']) paths = withUpload(paths, `upload:${name}.ndjson`);
  expect(paths.split('\n')).toEqual(['/data/z.ndjson', 'upload:a.ndjson', 'upload:b.ndjson', 'upload:c.ndjson']);
});
