import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isNobody, nobodyIds, nobodyUuid } from './nobody-ids.ts';

describe('ids that mean nobody', () => {
  it.each([...nobodyIds, nobodyUuid])('%j, in any case, with quotes and white space around it', (id) => {
    const spellings = [id, id.toUpperCase(), ` ${id}\n`, `"${id}"`, `'${id}'`, `" ${id} "`, `'"${id}"'`];
    expect(spellings.filter((each) => !isNobody(each))).toEqual([]);
  });

  it.each(['', ' ', '\t\n', '""', "''", `' '`, ' '.repeat(1000)])('%j', (id) => {
    expect(isNobody(id)).toBe(true);
  });

  it.each([
    '00000000000000000000000000000000',
    'urn:uuid:00000000-0000-0000-0000-000000000000',
    'URN:UUID:{00000000-0000-0000-0000-000000000000}',
    '{00000000000000000000000000000000}',
  ])('the UUID of zeros as %s', (id) => {
    expect(isNobody(id)).toBe(true);
  });

  it.each(['ada', '00', '1', '-2', 'anonymous-1', '"ada"', 'none of them', '[object Object]1', `"`, '00000000-0000'])(
    'but %j is an id',
    (id) => {
      expect(isNobody(id)).toBe(false);
    },
  );

  it.each(['{"a":1}', '{}', '[]', '[1,"x"]', '[null]', '[{"a":1}]', JSON.stringify(['x'.repeat(500)]).slice(0, 200)])(
    'the JSON of a value that is no text: %j',
    (id) => {
      expect(isNobody(id)).toBe(true);
    },
  );

  it.each(['{abc}', '[abc]', '[1 of 2]'])('but %j is an id, too', (id) => {
    expect(isNobody(id)).toBe(false);
  });

  it('a UUID of somebody is one in every spelling', () => {
    expect(isNobody('00000000-0000-0000-0000-000000000001')).toBe(false);
    expect(isNobody('00000000000000000000000000000001')).toBe(false);
    expect(isNobody('urn:uuid:f0000000-0000-0000-0000-000000000000')).toBe(false);
  });

  it('are listed in the page about persons, all of them', () => {
    const page = readFileSync(new URL('../../docs/concepts.md', import.meta.url), 'utf8');
    expect([...nobodyIds, nobodyUuid].filter((id) => !page.includes(`\`${id}\``))).toEqual([]);
  });
});
