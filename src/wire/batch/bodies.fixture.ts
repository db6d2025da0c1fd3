import * as fc from 'fast-check';

/** Generators of batch bodies for tests: JSON of every shape, and text that is almost JSON. */

const knownKeys = [
  'event',
  'distinct_id',
  '$distinct_id',
  'uuid',
  'timestamp',
  'properties',
  'offset',
  '$set',
  '$set_once',
  'token',
  '$token',
  'api_key',
  '$ip',
  '$unset',
  '$groups',
  '$process_person_profile',
  '$anon_distinct_id',
  'alias',
  '$group_type',
  '$ignore_sent_at',
  '$cookieless_mode',
];
const rootKeys = ['batch', 'api_key', 'token', 'historical_migration', 'sent_at', 'event', 'b\\u0061tch'];

type Text = fc.Arbitrary<string>;

function weighted<T>(...choices: readonly (readonly [weight: number, arbitrary: fc.Arbitrary<T>])[]): fc.Arbitrary<T> {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

function joined(...parts: readonly Text[]): Text {
  return fc.tuple(...parts).map((texts) => texts.join(''));
}

/** Writes some characters of the text as \u escapes. */
function spelt(text: string, escaped: readonly number[]): string {
  const written = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return [...text].map((char, index) => (escaped.includes(index) ? written(char) : char)).join('');
}

const space = weighted([5, fc.constant('')], [1, fc.stringMatching(/^[ \t\r\n]{1,3}$/)]);

const known = fc.constantFrom(...knownKeys);
const plainKey = weighted(
  [8, known],
  // Almost known: with a character added or missing.
  [1, joined(known, fc.constantFrom('x', 'é', '\\u00e9', '\\u0027', '\\u002B', '\\n', '\\"', ' '))],
  [1, fc.tuple(known, fc.nat(24)).map(([text, at]) => text.slice(0, at))],
  [1, fc.tuple(fc.constantFrom('k', '$', 'é', '\\\\'), fc.nat(40)).map(([part, times]) => part.repeat(times))],
);
const speltKey = fc.tuple(known, fc.array(fc.nat(24), { maxLength: 3 })).map(([text, at]) => spelt(text, at));

const escape = fc.constantFrom('\\"', '\\\\', '\\/', '\\b', '\\n', '\\u0041', '\\u00fF', '\\ud83d\\ude00', '\\ud800');
const piece = fc.constantFrom('a', '$', 'page viewed ', 'é€😀', '0123456789abcdef', '{[', ']}');
const text = fc.array(weighted([6, piece], [2, escape]), { maxLength: 8 }).map((parts) => `"${parts.join('')}"`);
const number = fc.constantFrom('0', '-0', '7', '-12.50', '1e9', '1E+2', '0.1e-3', '12345678901234567890');
const word = fc.constantFrom('true', 'false', 'null', '""', '"$pageview"', '"\\u0024a"', '"\\n$"');
const scalar = weighted([1, text], [1, number], [1, word]);

const notQuiteTexts = ['\\x', '\\u12g4', '\\u', '\\', '\n', '\u0000', '\u001f'].map((bad) => `"ab${bad}c"`);
const notQuiteNumbers = ['01', '-', '1.', '.5', '1e', '1e+', '+1', '1.e5', '--1', '1e5.5', '0x1'];
const notQuiteContainers = [
  '[,]',
  '{,}',
  '[1,]',
  '[1 2]',
  '{"a":1,}',
  '{"a"}',
  '{5:1}',
  '{"a":}',
  '{"a" "b"}',
  '[}',
  '{]',
];
const notQuiteWords = ['tru', 'nul', 'fals', 'truex', 'nulL', 'NaN', 'x', '', ',', '}', ']', ':', '\u0000', '\u00a0'];
/** Texts that resemble JSON values. */
export const notQuiteValues: readonly string[] = [
  ...notQuiteTexts,
  ...notQuiteNumbers,
  ...notQuiteContainers,
  ...notQuiteWords,
];

function nested(levels: number): Text {
  return fc
    .tuple(fc.constantFrom('[', '{"k":'), fc.integer({ min: 1, max: levels }))
    .map(([open, levels]) => open.repeat(levels) + (open === '[' ? ']'.repeat(levels) : `0${'}'.repeat(levels)}`));
}

function list(item: Text, open: string, close: string, maxLength: number): Text {
  const items = fc.array(joined(space, item, space), { maxLength });
  return fc.tuple(items, space).map(([all, gap]) => `${open}${all.length === 0 ? gap : all.join(',')}${close}`);
}

function member(key: Text, value: Text): Text {
  return joined(
    key.map((name) => `"${name}"`),
    space,
    fc.constant(':'),
    space,
    value,
  );
}

function values(key: Text, levels: number): Text {
  return fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      { weight: 12, arbitrary: scalar },
      { weight: 1, arbitrary: nested(levels) },
      { weight: 2, arbitrary: list(tie('value'), '[', ']', 3) },
      { weight: 2, arbitrary: list(member(key, tie('value')), '{', '}', 4) },
    ),
  })).value;
}

function elements(key: Text, value: Text): Text {
  const properties = list(member(key, value), '{', '}', 8);
  return list(weighted([3, member(key, value)], [2, member(fc.constant('properties'), properties)]), '{', '}', 7);
}

/** An array of events, or an object with one. */
function bodies(event: Text, value: Text): Text {
  const events = list(event, '[', ']', 5);
  const root = weighted([3, member(fc.constant('batch'), events)], [2, member(fc.constantFrom(...rootKeys), value)]);
  return weighted([4, joined(space, events, space)], [4, list(root, '{', '}', 4)], [1, event]);
}

const plainValue = values(plainKey, 20);
/** JSON whose events are objects within every limit, with unescaped keys. */
export const plainBody: Text = bodies(elements(plainKey, plainValue), plainValue);

const anyKey = weighted([6, plainKey], [1, speltKey]);
const anyValue = weighted([60, values(anyKey, 70)], [1, fc.constantFrom(...notQuiteValues)]);
const anyBody = bodies(weighted([20, elements(anyKey, anyValue)], [1, anyValue]), anyValue);

/** Damage in transit: none, truncation, a changed byte, invalid UTF-8. */
const damage: fc.Arbitrary<(bytes: Buffer) => Buffer> = weighted(
  [3, fc.constant((bytes: Buffer) => bytes)],
  [1, fc.nat().map((at) => (bytes: Buffer) => bytes.subarray(0, at % (bytes.length + 1)))],
  [1, fc.nat().map((at) => (bytes: Buffer) => Buffer.from(bytes).fill(0xff, at % (bytes.length + 1)))],
  [
    2,
    fc
      .tuple(fc.nat(), fc.nat(2), fc.constantFrom(...'"\\{}[]:,0-.eu n\n\u0000\u001fé\u007f'))
      .map(([at, removed, added]) => (bytes: Buffer) => {
        const place = at % (bytes.length + 1);
        return Buffer.concat([bytes.subarray(0, place), Buffer.from(added), bytes.subarray(place + removed)]);
      }),
  ],
);

/** Bodies with unusual, invalid or damaged content. */
export const damagedBody: fc.Arbitrary<Buffer> = fc
  .tuple(anyBody, damage)
  .map(([text, damaged]) => damaged(Buffer.from(text)));
