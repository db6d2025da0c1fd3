/**
 * Values of a source that are not what they look like, and the rules for them that an import can choose. The first rule of each is
 * what happens where none was chosen. Flags, fields and documentation follow from this table.
 */
export const unusualValues = {
  padded_ids: {
    rules: ['keep', 'trim', 'reject'],
    what: 'Ids of persons and groups with white space at an end, which makes them other ids than those without.',
    does: '`keep`: they stay other ids. `trim`: it is taken off. `reject`: their records are rejected.',
  },
  long_ids: {
    rules: ['cut', 'shorten', 'reject'],
    what: 'Ids of more than 200 characters.',
    does:
      '`cut`: to 200, as the store does; those that begin alike become one. `shorten`: to 200 with a hash of the whole id at ' +
      'the end, so that different ids stay different. `reject`: their records are rejected.',
  },
  long_names: {
    rules: ['reject', 'shorten'],
    what: 'Names of events of more than 200 characters.',
    does: '`reject`: the events are rejected. `shorten`: to 200 with a hash of the whole name at the end.',
  },
  long_properties: {
    rules: ['keep', 'shorten', 'reject'],
    what: 'Names of properties of more than 200 characters, of events, persons and groups.',
    does: '`keep`: they stay. `shorten`: to 200 with a hash of the whole name at the end. `reject`: their records are rejected.',
  },
  odd_times: {
    rules: ['keep', 'guess', 'received', 'reject'],
    what: 'Times before the year 2000, more than 23 hours ahead, or that nobody can read.',
    does:
      '`keep`: what the store takes stays (from 1900 until a day ahead), others are rejected. `guess`: texts that can mean one ' +
      'time only are read (`Mon, 04 Mar 2024 05:06:07 GMT`), others as with `keep`. `received`: when the source received the ' +
      'event stands in, where its records say that. `reject`: their records are rejected.',
  },
} as const satisfies Record<string, { rules: readonly string[]; what: string; does: string }>;

export type UnusualValue = keyof typeof unusualValues;
export type RuleOf<Value extends UnusualValue> = (typeof unusualValues)[Value]['rules'][number];

// Sound: the keys of a constant.
export const unusualValueKeys = Object.keys(unusualValues) as readonly UnusualValue[];
