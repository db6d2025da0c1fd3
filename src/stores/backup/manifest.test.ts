import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { BackupDamagedError, keyOf, manifestText, readManifest, type Manifest } from './manifest.ts';

const manifest: Manifest = {
  format: 1,
  id: 'b1',
  taken_at: '2026-11-23T12:00:00.000Z',
  files: [{ path: 'log/live/0000000000000001.sqlite', bytes: 1, sha256: 'ab' }],
  links: [{ path: 'events/metadata/millrace', to: '../store/b93/x' }],
  counts: {
    events: [],
    waiting: { live: { records: 0, events: 0 }, historical: { records: 0, events: 0 } },
    tables: {},
  },
};

/** Builds a crafted manifest with a valid checksum. */
function forged(changed: object): string {
  const all = { ...manifest, ...changed };
  return JSON.stringify({ manifest: all, sha256: createHash('sha256').update(JSON.stringify(all)).digest('hex') });
}

const link = (path: string, to: string) => ({ path, to });

describe('a manifest', () => {
  it('is read as written', () => {
    expect(readManifest(manifestText(manifest))).toEqual(manifest);
  });

  it.each([
    ['a changed byte', manifestText(manifest).replace('b1', 'b2'), 'one with another checksum'],
    ['half of its text', manifestText(manifest).slice(0, 100), 'something other than JSON'],
    ['a newer format', forged({ format: 2 }), 'a newer Millrace took it'],
    [
      'a file above the directory',
      forged({ files: [{ path: 'log/../../x', bytes: 1, sha256: '' }] }),
      'outside of a data directory',
    ],
    ['a file elsewhere', forged({ files: [{ path: '/etc/x', bytes: 1, sha256: '' }] }), 'outside of a data directory'],
    [
      'a file that belongs to no store',
      forged({ files: [{ path: 'move.json', bytes: 1, sha256: '' }] }),
      'outside of a data',
    ],
    ['a link to elsewhere', forged({ links: [{ path: 'events/data/x', to: '/etc' }] }), 'outside of a data directory'],
    ['a link above', forged({ links: [{ path: 'events/x', to: '../../x' }] }), 'outside of a data directory'],
    // Each link stays inside, but together they lead out: events/a/b is the data directory, and its `..` is above.
    [
      'a link to a link',
      forged({ links: [link('events/a', 'x/y'), link('events/b', 'a')] }),
      'through a symbolic link',
    ],
    [
      'a link below a link',
      forged({ links: [link('events/a', 'x'), link('events/a/b', '../c')] }),
      'through a symbolic',
    ],
    [
      'links that climb through each other',
      forged({ links: [link('events/d/e/f', '../../x'), link('events/g', 'd/e/f/../z')] }),
      'symbolic link',
    ],
    [
      'a file below a link',
      forged({ links: [link('events/a', 'x')], files: [{ path: 'events/a/f', bytes: 1, sha256: '' }] }),
      'through a symbolic link',
    ],
    [
      'a link whose target passes a link',
      forged({ links: [link('events/a', 'deep/er'), link('events/b', 'a/../c')] }),
      'symbolic link',
    ],
  ])('with %s is refused', (_, text, sentence) => {
    expect(() => readManifest(text)).toThrow(BackupDamagedError);
    expect(() => readManifest(text)).toThrow(sentence);
  });
});

it.each([
  ['events/store/1cd/x/202401_2_2_0/data.bin', 'files/events/store/1cd/x/202401_2_2_0/data.bin'],
  ['import-uploads/1/a b=c.ndjson', 'files/import-uploads/1/a=20b=3dc.ndjson'],
  ['import-uploads/1/Ä', 'files/import-uploads/1/=c3=84'],
  ['import-uploads/1/...', 'files/import-uploads/1/=2e=2e=2e'],
])('the key of %s is %s', (path, key) => expect(keyOf(path)).toBe(key));
