import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { pageSchema } from './pagination.ts';

interface NoticeEventMeaning {
  /** Whose destinations hear of it. */
  readonly of: 'project' | 'service';
  /** `state`: told when it begins and when it is over. */
  readonly kind: 'happening' | 'state';
  readonly meaning: string;
}

/** What notices are sent of. */
export const noticeEvents = {
  run_completed: { of: 'project', kind: 'happening', meaning: 'An import run is done.' },
  run_failed: { of: 'project', kind: 'happening', meaning: 'An import run has failed.' },
  run_waiting: { of: 'project', kind: 'state', meaning: 'An import run has waited for something for five minutes.' },
  config_failing: { of: 'project', kind: 'state', meaning: 'An enabled config has an error.' },
  schedule_failing: {
    of: 'project',
    kind: 'state',
    meaning: 'The schedule of an import app could start no run: its settings cannot work.',
  },
  dead_letters_high: {
    of: 'project',
    kind: 'state',
    meaning: 'More events than MILLRACE_NOTICE_DEAD_LETTERS could not be stored within an hour.',
  },
  disk_low: { of: 'service', kind: 'state', meaning: 'The disk of the data directory is almost full.' },
  lag_high: {
    of: 'service',
    kind: 'state',
    meaning: 'The oldest live event that is not stored yet has waited longer than MILLRACE_NOTICE_LAG_SECONDS.',
  },
} as const satisfies Record<string, NoticeEventMeaning>;
export type NoticeEvent = keyof typeof noticeEvents;
export type NoticeOwner = (typeof noticeEvents)[NoticeEvent]['of'];

export const noticeEventsOf = (owner: NoticeOwner): readonly NoticeEvent[] =>
  (Object.keys(noticeEvents) as NoticeEvent[]).filter((event) => noticeEvents[event].of === owner);

export const destinationKinds = ['webhook', 'slack', 'email'] as const;
export type DestinationKind = (typeof destinationKinds)[number];

export const deliveryStates = ['queued', 'running', 'sent', 'failed'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

const name = Type.String({ minLength: 1, maxLength: 400, description: 'As people call it.' });
const url = Type.String({
  minLength: 1,
  maxLength: 2000,
  description: 'Of `webhook` and `slack`: where the notice is posted. Never shown again: answers have its host only.',
  examples: ['https://hooks.example.com/T0/B0'],
});
const to = Type.Array(Type.String({ minLength: 3, maxLength: 320 }), {
  minItems: 1,
  maxItems: 20,
  description: 'Of `email`: who gets it.',
  examples: [['ops@example.com']],
});
const secret = Type.String({
  minLength: 16,
  maxLength: 200,
  description: 'Of `webhook`: the key of its signatures. Left out: one is made, and shown once.',
});
const enabled = Type.Boolean({ description: 'Switched off nothing is sent to it, and nothing kept for it.' });

const eventsOf = (owner: NoticeOwner) =>
  Type.Array(Type.Enum([...noticeEventsOf(owner)]), {
    minItems: 1,
    maxItems: 20,
    description: `What it is told of: ${noticeEventsOf(owner).join(', ')}.`,
  });

export const destinationSchema = Type.Object({
  id: Type.String({ format: 'uuid' }),
  project_id: orNull(Type.Integer(), 'Null: it is told of the service as a whole.'),
  name,
  kind: Type.Enum([...destinationKinds]),
  url: orNull(Type.String(), 'The host alone, for the rest may be a secret. Null for `email`.'),
  to: Type.Array(Type.String(), { description: 'Empty but for `email`.' }),
  events: Type.Array(Type.Enum(Object.keys(noticeEvents) as NoticeEvent[])),
  enabled,
  created_at: Type.String({ format: 'date-time' }),
  updated_at: Type.String({ format: 'date-time' }),
});
export type DestinationRecord = Static<typeof destinationSchema>;
export const destinationPageSchema = pageSchema(destinationSchema);

/** The only answer with the secret in it. */
export const newDestinationSchema = Type.Object({
  ...destinationSchema.properties,
  secret: orNull(Type.String(), 'Key of the signatures of a webhook, shown this once. Null for the other kinds.'),
});
export type NewDestinationRecord = Static<typeof newDestinationSchema>;

export const destinationCreateSchema = (owner: NoticeOwner) =>
  Type.Object({
    name,
    kind: Type.Enum([...destinationKinds]),
    url: Type.Optional(url),
    to: Type.Optional(to),
    secret: Type.Optional(secret),
    events: Type.Optional(eventsOf(owner)),
    enabled: Type.Optional(enabled),
  });
export type DestinationCreate = Static<ReturnType<typeof destinationCreateSchema>>;

/** The kind stays: another one is another destination. */
export const destinationUpdateSchema = (owner: NoticeOwner) =>
  Type.Object({
    name: Type.Optional(name),
    url: Type.Optional(url),
    to: Type.Optional(to),
    secret: Type.Optional(secret),
    events: Type.Optional(eventsOf(owner)),
    enabled: Type.Optional(enabled),
  });
export type DestinationUpdate = Static<ReturnType<typeof destinationUpdateSchema>>;

export const destinationIdSchema = Type.Object({ id: Type.String({ description: 'Id of the destination.' }) });
export const deliveryIdSchema = Type.Object({
  ...destinationIdSchema.properties,
  delivery: Type.String({ description: 'Id of the notice.' }),
});

/** What is sent to a webhook, as JSON. */
export const noticeSchema = Type.Object({
  event: Type.Enum([...(Object.keys(noticeEvents) as NoticeEvent[]), 'test']),
  state: Type.Enum(['happened', 'raised', 'recovered'], {
    description: '`raised` and `recovered`: the beginning and the end of something that lasts.',
  }),
  summary: Type.String({ description: 'One sentence: what is the matter.' }),
  action: Type.String({ description: 'One sentence: what to do; empty: nothing.' }),
  project: orNull(Type.Object({ id: Type.Integer(), name: Type.String() }), 'Null: the service as a whole.'),
  target: Type.String({ description: 'Path of a page below the project in the console.', examples: ['imports/3'] }),
  occurred_at: Type.String({ format: 'date-time' }),
  details: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()])),
});
export type Notice = Static<typeof noticeSchema>;

export const deliverySchema = Type.Object({
  id: Type.String({ format: 'uuid' }),
  destination: Type.String({ format: 'uuid' }),
  state: Type.Enum([...deliveryStates], {
    description: '`queued`: waits for its next attempt; `failed`: given up, `error` says why.',
  }),
  attempts: Type.Integer({ minimum: 0 }),
  attempts_max: Type.Integer({ minimum: 1 }),
  next_attempt_at: orNull(Type.String({ format: 'date-time' }), 'Null: there will be none.'),
  error: Type.String({ description: 'Of the latest attempt; empty: there was none, or it went well.' }),
  created_at: Type.String({ format: 'date-time' }),
  finished_at: orNull(Type.String({ format: 'date-time' })),
  notice: noticeSchema,
});
export type DeliveryRecord = Static<typeof deliverySchema>;
export const deliveryPageSchema = pageSchema(deliverySchema);
