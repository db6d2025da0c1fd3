import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { pageSchema } from './pagination.ts';

interface NoticeEventMeaning {
  /** Owner of the destinations that receive it. */
  readonly of: 'project' | 'service';
  /** A `state` is reported when it begins and when it ends. */
  readonly kind: 'happening' | 'state';
  readonly meaning: string;
}

/** Events for which notifications are sent. */
export const noticeEvents = {
  run_completed: { of: 'project', kind: 'happening', meaning: 'An import run has completed.' },
  run_failed: { of: 'project', kind: 'happening', meaning: 'An import run has failed.' },
  run_waiting: { of: 'project', kind: 'state', meaning: 'An import run has been waiting for five minutes.' },
  config_failing: { of: 'project', kind: 'state', meaning: 'An enabled config has an error.' },
  schedule_failing: {
    of: 'project',
    kind: 'state',
    meaning: 'The schedule of an import app could not start a run because its settings are invalid.',
  },
  dead_letters_high: {
    of: 'project',
    kind: 'state',
    meaning: 'More events than MILLRACE_NOTICE_DEAD_LETTERS could not be stored within an hour.',
  },
  tracking_plan_violated: {
    of: 'project',
    kind: 'state',
    meaning: 'Events violated the tracking plan more than MILLRACE_NOTICE_PLAN_VIOLATIONS times within two hours.',
  },
  project_limited: {
    of: 'project',
    kind: 'state',
    meaning: 'Events of the project are refused because of its limits.',
  },
  disk_low: { of: 'service', kind: 'state', meaning: 'The disk of the data directory is almost full.' },
  lag_high: {
    of: 'service',
    kind: 'state',
    meaning: 'The oldest unstored live event has waited longer than MILLRACE_NOTICE_LAG_SECONDS.',
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

const name = Type.String({ minLength: 1, maxLength: 400, description: 'Display name.' });
const url = Type.String({
  minLength: 1,
  maxLength: 2000,
  description:
    'For `webhook` and `slack`, the URL to which notifications are posted. Write-only: responses only contain its host.',
  examples: ['https://hooks.example.com/T0/B0'],
});
const to = Type.Array(Type.String({ minLength: 3, maxLength: 320 }), {
  minItems: 1,
  maxItems: 20,
  description: 'For `email`, the recipients.',
  examples: [['ops@example.com']],
});
const secret = Type.String({
  minLength: 16,
  maxLength: 200,
  description: 'For `webhook`, the signing key. If omitted, one is generated and shown once.',
});
const enabled = Type.Boolean({ description: 'Whether notifications are sent. While disabled, none are queued.' });

const eventsOf = (owner: NoticeOwner) =>
  Type.Array(Type.Enum([...noticeEventsOf(owner)]), {
    minItems: 1,
    maxItems: 20,
    description: `Events to notify about: ${noticeEventsOf(owner).join(', ')}.`,
  });

export const destinationSchema = Type.Object({
  id: Type.String({ format: 'uuid' }),
  project_id: orNull(Type.Integer(), 'Id of the project. Null for the service as a whole.'),
  name,
  kind: Type.Enum([...destinationKinds]),
  url: orNull(Type.String(), 'Only the host, since the rest may be secret. Null for `email`.'),
  to: Type.Array(Type.String(), { description: 'Recipients of `email`. Otherwise empty.' }),
  events: Type.Array(Type.Enum(Object.keys(noticeEvents) as NoticeEvent[])),
  enabled,
  created_at: Type.String({ format: 'date-time' }),
  updated_at: Type.String({ format: 'date-time' }),
});
export type DestinationRecord = Static<typeof destinationSchema>;
export const destinationPageSchema = pageSchema(destinationSchema);

/** The only response that contains the secret. */
export const newDestinationSchema = Type.Object({
  ...destinationSchema.properties,
  secret: orNull(Type.String(), 'Signing key of a webhook, only shown once. Null for other kinds.'),
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

/** The kind cannot be changed. */
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
  delivery: Type.String({ description: 'Id of the delivery.' }),
});

/** Body of a webhook, as JSON. */
export const noticeSchema = Type.Object({
  event: Type.Enum([...(Object.keys(noticeEvents) as NoticeEvent[]), 'test']),
  state: Type.Enum(['happened', 'raised', 'recovered'], {
    description: '`raised` and `recovered` mark the beginning and the end of a state.',
  }),
  summary: Type.String({ description: 'What happened, in one sentence.' }),
  action: Type.String({ description: 'What to do, in one sentence. Empty if nothing.' }),
  project: orNull(Type.Object({ id: Type.Integer(), name: Type.String() }), 'Null for the service as a whole.'),
  target: Type.String({ description: 'Path of a console page, relative to the project.', examples: ['imports/3'] }),
  occurred_at: Type.String({ format: 'date-time' }),
  details: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()])),
});
export type Notice = Static<typeof noticeSchema>;

export const deliverySchema = Type.Object({
  id: Type.String({ format: 'uuid' }),
  destination: Type.String({ format: 'uuid' }),
  state: Type.Enum([...deliveryStates], {
    description: '`queued`: waiting for the next attempt. `failed`: no more attempts; see `error`.',
  }),
  attempts: Type.Integer({ minimum: 0 }),
  attempts_max: Type.Integer({ minimum: 1 }),
  next_attempt_at: orNull(Type.String({ format: 'date-time' }), 'Null if there are no more attempts.'),
  error: Type.String({ description: 'Error of the latest attempt. Empty if it succeeded or was not made.' }),
  created_at: Type.String({ format: 'date-time' }),
  finished_at: orNull(Type.String({ format: 'date-time' })),
  notice: noticeSchema,
});
export type DeliveryRecord = Static<typeof deliverySchema>;
export const deliveryPageSchema = pageSchema(deliverySchema);
