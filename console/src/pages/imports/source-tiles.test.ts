import { expect, it } from 'vitest';
import { sourceTiles } from './source-tiles.ts';

it('tools without an app lead to the upload of their export files', () => {
  const app = (slug: string) => ({ slug, name: slug, description: '' });
  const tiles = sourceTiles(
    [app('files'), app('mixpanel'), app('kafka')],
    [app('mixpanel'), app('mapping'), { slug: 'segment', name: 'Segment', description: '' }],
  );
  expect(tiles.map(({ group, slug, name }) => [group, slug, name])).toEqual([
    ['Files and buckets', 'files', 'files'],
    ['Tools', 'mixpanel', 'mixpanel'],
    ['Databases and streams', 'kafka', 'kafka'],
    ['Tools', 'files', 'Segment'],
  ]);
});
