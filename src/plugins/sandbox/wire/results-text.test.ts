import { describe, expect, it } from 'vitest';
import { SandboxError, type EventOutcome } from '../sandbox.ts';
import { eventOf } from '../../../../test/support/sandbox.ts';
import { decodeResults } from './results-text.ts';

const events = [eventOf('a'), eventOf('b'), eventOf('c')];
const line = (head: unknown, texts = ''): string => `${JSON.stringify(head)}\n${texts}`;

describe('results from an isolate', () => {
  it('outcomes arrive in any order and in parts', () => {
    const outcomes: (EventOutcome | undefined)[] = [];
    decodeResults(line([[2, 1]]), events, outcomes);
    decodeResults(
      line(
        [
          [1, 2, 7, 1, 0, 'B', 0, 0],
          [0, 0],
        ],
        '{"é":1}',
      ),
      events,
      outcomes,
    );
    expect(outcomes).toEqual([
      { kind: 'unchanged' },
      {
        kind: 'changed',
        uuid: events[1]?.uuid,
        event: 'B',
        distinctId: 'person-1',
        timestamp: events[1]?.timestamp,
        propertiesText: '{"é":1}',
        movedTeam: true,
      },
      { kind: 'dropped' },
    ]);
  });

  const tampered: readonly (readonly [name: string, text: string])[] = [
    ['no JSON', 'nonsense\n'],
    ['no line', '[]'.slice(1)],
    ['no array', line({ length: 1 })],
    ['an entry that is not an array', line(['x'])],
    ['an event that is not there', line([[3, 0]])],
    ['an invalid index', line([['0', 0]])],
    [
      'the same event twice',
      line([
        [0, 0],
        [0, 1],
      ]),
    ],
    ['a length beyond the end', line([[0, 2, 9, 0, 0, 0, 0, 0]], '{}')],
    ['a negative length', line([[0, 2, -1, 0, 0, 0, 0, 0]], '{}')],
    ['no object', line([[0, 2, 2, 0, 0, 0, 0, 0]], '[]')],
    ['no uuid', line([[0, 2, 2, 0, 'x', 0, 0, 0]], '{}')],
    ['no time', line([[0, 2, 2, 0, 0, 0, 0, 'soon']], '{}')],
    ['an empty name', line([[0, 2, 2, 0, 0, '', 0, 0]], '{}')],
    ['an invalid name', line([[0, 2, 2, 0, 0, {}, 0, 0]], '{}')],
    ['an unknown kind', line([[0, 9]])],
  ];
  it.each(tampered)('invalid results are refused: %s', (_name, text) => {
    expect(() => decodeResults(text, events, [])).toThrow(SandboxError);
  });

  it('an error contains only known fields', () => {
    const outcomes: (EventOutcome | undefined)[] = [];
    const told = { kind: 'invented', message: 'x'.repeat(1e5), method: 5, errorName: {}, stack: [], retry: 'yes' };
    decodeResults(
      line([
        [0, 3, told],
        [1, 3, null],
      ]),
      events,
      outcomes,
    );
    const [first, second] = outcomes.map((outcome) => (outcome?.kind === 'failed' ? outcome.error : undefined));
    expect(first).toMatchObject({ kind: 'thrown', method: '', errorName: 'Error', pluginStack: '', retry: false });
    expect(first?.message).toHaveLength(4000);
    expect(second?.message).not.toBe('');
  });
});
