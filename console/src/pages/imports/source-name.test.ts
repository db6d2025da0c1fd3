import { expect, it } from 'vitest';
import { automaticName } from './source-name.ts';

it('an import of files is named after its format and its files, another one after its app', () => {
  const files = { slug: 'files', name: 'Files' };
  const paths = 'upload:a.ndjson\nupload:b.ndjson';
  expect(automaticName(files, paths)).toBe('2 files');
  expect(automaticName(files, paths, 'Mixpanel')).toBe('Mixpanel, 2 files');
  expect(automaticName(files, '/exports/a.ndjson', 'Mixpanel')).toBe('Mixpanel, a.ndjson');
  expect(automaticName(files, '')).toBe('Files');
  expect(automaticName({ slug: 'mixpanel', name: 'Mixpanel' }, undefined, 'Mixpanel')).toBe('Mixpanel');
});
