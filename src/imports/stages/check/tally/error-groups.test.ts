import { expect, it } from 'vitest';
import { createErrorGroups } from './error-groups.ts';

const example = { part: 'p', line: 1, original: '{}' };

it.each<[string, readonly string[], number]>([
  [
    'kinds of values have separate groups',
    [
      'expected a time, got nothing',
      'expected a time, got a text',
      'expected a time, got a time too far in the future',
    ],
    3,
  ],
  ['values share the group of their fault', ['expected a name, got: one', 'expected a name, got: two'], 1],
  ['values without a colon do too', ['expected 7 columns, got 3', 'expected 7 columns, got 4'], 1],
])('%s', (_name, reasons, count) => {
  const groups = createErrorGroups();
  for (const reason of reasons) groups.add('unreadable_record', reason, example);
  expect(groups.list()).toHaveLength(count);
});
