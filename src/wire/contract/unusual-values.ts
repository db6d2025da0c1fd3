/**
 * Unusual values in a source and the rules for them that an import can choose. The first rule is the default. Flags, fields and
 * documentation are generated from this table.
 */
export const unusualValues = {
  padded_ids: {
    rules: ['keep', 'trim', 'reject'],
    what: 'Ids of persons and groups with leading or trailing white space, which makes them different ids.',
    does: '`keep`: the ids stay different. `trim`: white space is removed. `reject`: the records are rejected.',
  },
  long_ids: {
    rules: ['cut', 'shorten', 'reject'],
    what: 'Ids of more than 200 characters.',
    does:
      '`cut`: truncated to 200, as the store does; those with the same beginning become one. `shorten`: truncated to 200 with a ' +
      'hash of the whole id, so that different ids stay different. `reject`: the records are rejected.',
  },
  long_names: {
    rules: ['reject', 'shorten'],
    what: 'Event names of more than 200 characters.',
    does: '`reject`: the events are rejected. `shorten`: truncated to 200 with a hash of the whole name at the end.',
  },
  long_properties: {
    rules: ['keep', 'shorten', 'reject'],
    what: 'Property names of more than 200 characters, of events, persons and groups.',
    does: '`keep`: unchanged. `shorten`: truncated to 200 with a hash of the whole name at the end. `reject`: the records are rejected.',
  },
  odd_times: {
    rules: ['keep', 'guess', 'received', 'reject'],
    what: 'Times before the year 2000, more than 23 hours ahead, or unreadable.',
    does:
      '`keep`: times that the store accepts are kept (from 1900 until a day ahead), others are rejected. `guess`: unambiguous texts ' +
      'are read (`Mon, 04 Mar 2024 05:06:07 GMT`), others as with `keep`. `received`: uses the time at which the source received ' +
      'the event, if its records contain it. `reject`: the records are rejected.',
  },
} as const satisfies Record<string, { rules: readonly string[]; what: string; does: string }>;

export type UnusualValue = keyof typeof unusualValues;
export type RuleOf<Value extends UnusualValue> = (typeof unusualValues)[Value]['rules'][number];

// Sound: the keys of a constant.
export const unusualValueKeys = Object.keys(unusualValues) as readonly UnusualValue[];
