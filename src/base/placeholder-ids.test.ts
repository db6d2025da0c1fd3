import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isPlaceholderId, placeholderIds, placeholderUuid } from './placeholder-ids.ts';

describe('placeholder ids', () => {
  it.each([...placeholderIds, placeholderUuid])('%j, in any case, with quotes and white space around it', (id) => {
    const spellings = [id, id.toUpperCase(), ` ${id}\n`, `"${id}"`, `'${id}'`, `" ${id} "`, `'"${id}"'`];
    expect(spellings.filter((each) => !isPlaceholderId(each))).toEqual([]);
  });

  it.each(['', ' ', '\t\n', '""', "''", `' '`, ' '.repeat(1000)])('%j', (id) => {
    expect(isPlaceholderId(id)).toBe(true);
  });

  it.each([
    '00000000000000000000000000000000',
    'urn:uuid:00000000-0000-0000-0000-000000000000',
    'URN:UUID:{00000000-0000-0000-0000-000000000000}',
    '{00000000000000000000000000000000}',
  ])('the UUID of zeros as %s', (id) => {
    expect(isPlaceholderId(id)).toBe(true);
  });

  it.each(['ada', '00', '1', '-2', 'anonymous-1', '"ada"', 'none of them', '[object Object]1', `"`, '00000000-0000'])(
    'but %j is an id',
    (id) => {
      expect(isPlaceholderId(id)).toBe(false);
    },
  );

  it.each(['{"a":1}', '{}', '[]', '[1,"x"]', '[null]', '[{"a":1}]', JSON.stringify(['x'.repeat(500)]).slice(0, 200)])(
    'the JSON of a value that is not a string: %j',
    (id) => {
      expect(isPlaceholderId(id)).toBe(true);
    },
  );

  it.each(['{abc}', '[abc]', '[1 of 2]'])('but %j is an id, too', (id) => {
    expect(isPlaceholderId(id)).toBe(false);
  });

  it('other UUIDs are ids in every spelling', () => {
    expect(isPlaceholderId('00000000-0000-0000-0000-000000000001')).toBe(false);
    expect(isPlaceholderId('00000000000000000000000000000001')).toBe(false);
    expect(isPlaceholderId('urn:uuid:f0000000-0000-0000-0000-000000000000')).toBe(false);
  });

  it('are all listed in the page about persons', () => {
    const page = readFileSync(new URL('../../docs/concepts.md', import.meta.url), 'utf8');
    expect([...placeholderIds, placeholderUuid].filter((id) => !page.includes(`\`${id}\``))).toEqual([]);
  });
});
