import { describe, expect, it } from 'vitest';
import { isIllegalId } from './illegal-ids.ts';

describe('ids that name nobody', () => {
  it.each([
    'anonymous',
    'Guest',
    'DISTINCT_ID',
    'distinctid',
    'id',
    'not_authenticated',
    'Email',
    'undefined',
    'TRUE',
    'false',
    '[object Object]',
    'NaN',
    'None',
    'none',
    'null',
    '0',
    '"anonymous"',
    "'0'",
    ' ',
    '',
  ])('%j', (id) => {
    expect(isIllegalId(id)).toBe(true);
  });

  it.each(['ada', '00', 'NONE', 'nan', '[OBJECT OBJECT]', '"ada"', '1', 'anonymous-1'])('but %j does', (id) => {
    expect(isIllegalId(id)).toBe(false);
  });
});
