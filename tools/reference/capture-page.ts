import {
  bodyEventsMax,
  distinctIdCharsMax,
  eventDepthMax,
  eventKeysMax,
  nameCharsMax,
} from '../../src/wire/batch/limits.ts';
import { compressionNames, wrappedBytesMax, lz64BytesMax, lz64CharsMax } from '../../src/wire/capture/decode.ts';
import { otherEncodings } from '../../src/wire/capture/inflate-encoding.ts';
import { unknownBodyBytesMax } from '../../src/wire/capture/project-key.ts';
import { definitionsPaths, flagsPaths, noFeatures } from '../../src/wire/capture/routes.ts';
import { settingDefinitions, type SettingDefinition, type SettingName } from '../../src/server/config/settings.ts';
import { capturePaths, captureV1Errors, captureV1Path, listedRejectionsMax } from '../../src/wire/contract/capture.ts';
import { apiErrors, captureErrorCodes } from '../../src/wire/contract/errors.ts';
import {
  messageTypes,
  segmentBatchPaths,
  segmentMessagePaths,
  segmentSettingsPath,
  sourceConfigPath,
} from '../../src/wire/contract/segment.ts';
import { freeEventsInAll, freeEventsPerMinute } from '../../src/wire/contract/historical-settings.ts';
import { code, json, page, table } from './markdown.ts';

const count = (value: number): string => value.toLocaleString('en');

/** Builds the page about the paths that accept events and the requests that client libraries make at startup. */
export function capturePage(): string {
  return page(
    'Capture',
    'Endpoints to which client libraries send events. They need no personal key: the project API key (`phc_…`) is in the body. A ' +
      'trailing slash is optional, and pages of any origin may send requests. See [Client libraries](../guides/client-libraries.md) ' +
      'for how to point libraries here, and [errors](errors.md) for the form of an error.',
    ...events(),
    ...bodies(),
    ...answers(),
    ...limits(),
    ...v1(),
    ...segment(),
    ...startup(),
  );
}

const paths = (each: readonly string[]): string => each.map((path) => code(`${path}/`)).join(', ');

function events(): string[] {
  return [
    '## Paths for events',
    `POST to ${paths(capturePaths)}. All are equivalent; libraries use different ones. GET accepts the same body in the query parameter ` +
      `${code('data')}. On paths that start with ${code('/engage')}, an object without an event name becomes an ${code('$identify')}.`,
    json({
      api_key: 'phc_…',
      historical_migration: false,
      sent_at: '2026-01-31T12:00:01.000Z',
      batch: [
        {
          event: 'signed up',
          distinct_id: 'ada',
          uuid: '0199a7c4-6f3e-7c1a-9d55-2b1f0c6e8a10',
          timestamp: '2026-01-31T12:00:00.000Z',
          properties: { plan: 'pro' },
        },
      ],
    }),
    table(
      ['Field', 'Meaning'],
      [
        [code('api_key'), 'Project API key, also as `token`. Each event may contain it instead, if all agree.'],
        [code('batch'), 'Events. A plain array and a single event are also accepted.'],
        [
          code('historical_migration'),
          'Marks historical events: they use a separate lane, keep their exact times and are metered separately. Only valid at the root.',
        ],
        [
          code('sent_at'),
          'Time at which the client sent the body, by its clock, ISO 8601. Times of live events are corrected by its difference from the time of receipt. The difference includes transmission, so events from different requests of one device may change their order. More than 30 s causes the warning `clock_skew_corrected`.',
        ],
        [code('event'), `Event name, required. At most ${nameCharsMax} characters.`],
        [
          code('distinct_id'),
          `Id of the person or device, required, in the event or its properties, also as ${code('$distinct_id')}. Truncated to ${distinctIdCharsMax} characters.`,
        ],
        [
          code('uuid'),
          'Events with the same uuid, day, name and `distinct_id` are stored once; the first is kept. A repetition with a different time or properties causes the warning `sent_again_with_other_content`, unless more than about 65,000 events were received in between. Default for a live event: a new uuid. Default for a historical event: one derived from its content, so that a repetition is stored once.',
        ],
        [code('timestamp'), 'ISO 8601. Default: the time of receipt.'],
        [
          code('offset'),
          'Only for live events: milliseconds between the event and its receipt. Overrides `timestamp`.',
        ],
        [
          `${code('properties')}, ${code('$set')}, ${code('$set_once')}`,
          'Objects; `[]`, as PHP writes an empty object, is accepted. `$set` and `$set_once` update the person in the order of event times, not of receipt.',
        ],
      ],
    ),
  ];
}

function bodies(): string[] {
  return [
    '## Bodies',
    'The form of a body is detected, regardless of its `Content-Type`.',
    table(
      ['Form', 'Detected by'],
      [
        [
          'JSON',
          'Its first character. `NaN` and `Infinity`, which some libraries write, are not JSON: the whole body is refused, and the error ' +
            'names the event. Send `null` instead.',
        ],
        ['gzip', 'Its first bytes, even without `Content-Encoding` and `compression=`.'],
        [
          'base64',
          `Its characters; may contain gzip. Accepted twice on \`/e/\`, \`/capture/\`, \`/engage/\` and \`/track/\`. At most ${count(wrappedBytesMax)} bytes.`,
        ],
        [
          'lz-string',
          `\`compression=lz64\`. At most ${count(lz64BytesMax)} bytes, and ${count(lz64CharsMax)} characters when unpacked.`,
        ],
        [
          'form',
          `\`data=\` at its start. \`data\` has one of the forms above; \`compression\` is as in the query. At most ${count(wrappedBytesMax)} bytes.`,
        ],
        ['`data` in the query', 'Its presence. Replaces the body unless empty.'],
      ],
    ),
    `Values of ${code('compression=')} and ${code('Content-Encoding')}: ${Object.keys(compressionNames).map(code).join(', ')}. Any other ` +
      `${code('Content-Encoding')} returns 415.`,
  ];
}

function answers(): string[] {
  return [
    '## Responses',
    `200 with ${code('{"status":"Ok"}')} means that every event is on disk and survives a crash. ` +
      'If some events are rejected, the others are stored, and the response lists the rejected ones:',
    json({
      status: 'Ok',
      rejected: [
        {
          index: 3,
          code: 'missing_distinct_id',
          detail: 'event submitted without a distinct_id: expected a "distinct_id", got: none',
          attr: 'batch[3].distinct_id',
        },
      ],
    }),
    `Each is kept as a dead letter, with a code of the [ingestion warnings](warnings.md). At most ${count(listedRejectionsMax)} are listed; ` +
      `with more, ${code('rejected_total')} is their number. A request is refused as a whole if it has no valid event, or if it has an ` +
      `invalid event and ${code('Prefer: handling=strict')}. With ${code('beacon=1')} in the query the response is 204 instead of 200.`,
    table(
      ['Status', 'Code', 'Meaning'],
      captureErrorCodes.map((each) => [String(apiErrors[each].status), code(each), apiErrors[each].meaning]),
    ),
    'Libraries retry after 408, 429 and 503, and drop events refused with other codes. Overload and storage failures are always 503 with ' +
      '`Retry-After`. A retry does not duplicate events that have a uuid. A request that is refused as a whole leaves no dead letters.',
  ];
}

const limitSettings = [
  'captureBodyBytesMax',
  'captureInflatedBytesMax',
  'captureEventBytesMax',
  'captureBodyTimeoutMs',
  'backlogEventsMax',
  'backlogBytesMax',
] as const satisfies readonly SettingName[];

function limits(): string[] {
  const set = limitSettings.map((name) => {
    const { env, default: value, help }: SettingDefinition = settingDefinitions[name];
    return [help, `${count(Number(value))}${name.endsWith('Ms') ? ' ms' : ''}`, code(env)];
  });
  return [
    '## Limits',
    table(
      ['What', 'Limit', 'Setting'],
      [
        ...set,
        [
          'Unpacked body that may contain its project key anywhere; a larger one must have it within this many first or last bytes.',
          count(unknownBodyBytesMax),
          '',
        ],
        ['Events per body.', count(bodyEventsMax), ''],
        ['Nesting levels per event.', count(eventDepthMax), ''],
        ['Object keys per event.', count(eventKeysMax), ''],
        [
          'History without an agreement, if agreements are required.',
          `${count(freeEventsPerMinute)} events per minute, ${count(freeEventsInAll)} in total`,
          code(settingDefinitions.historicalAgreement.env),
        ],
      ],
    ),
  ];
}

function v1(): string[] {
  return [
    '## The v1 endpoint',
    `POST ${code(captureV1Path)}, with the project API key in ${code('Authorization: Bearer')}. The response contains a result per event, ` +
      `by uuid. Required headers: ${code('Content-Type: application/json')}, ${code('User-Agent')}, ${code('PostHog-Sdk-Info')} (name/version), ` +
      `${code('PostHog-Attempt')} (from 1), ${code('PostHog-Request-Id')} (a UUID), ${code('PostHog-Request-Timestamp')} (RFC 3339). ` +
      `${code('Content-Encoding')}: none, ${['gzip', ...otherEncodings].map(code).join(', ')}.`,
    json({
      created_at: '2026-01-31T12:00:00Z',
      batch: [
        {
          event: 'signed up',
          uuid: '0199a7c4-6f3e-7c1a-9d55-2b1f0c6e8a10',
          distinct_id: 'ada',
          timestamp: '2026-01-31T12:00:00Z',
          properties: { plan: 'pro' },
        },
      ],
    }),
    json({ results: { '0199a7c4-6f3e-7c1a-9d55-2b1f0c6e8a10': { result: 'ok' } } }),
    `With ${code('drop')}, the event was rejected; ${code('details')} is the reason. Errors have the body ${code('{error, error_description, error_uri}')}:`,
    table(
      ['Status', 'Error'],
      Object.entries(captureV1Errors).map(([error, status]) => [String(status), code(error)]),
    ),
  ];
}

function segment(): string[] {
  const typed = messageTypes.map((type) => {
    const own = Object.entries(segmentMessagePaths).flatMap(([path, each]) => (each === type ? [path] : []));
    return [code(type), own.map(code).join(', ')];
  });
  return [
    '## The Segment protocol',
    'Libraries of Segment, RudderStack and Jitsu send messages, which become events as in an [import of their ' +
      'archive](formats/segment.md): a message that is captured and imported has the same uuid. See [Take over live ' +
      'traffic](../guides/segment-libraries.md).',
    table(['Message', 'Paths'], [['a batch', segmentBatchPaths.map(code).join(', ')], ...typed]),
    json({
      sentAt: '2026-01-31T12:00:01.000Z',
      batch: [
        {
          type: 'track',
          event: 'signed up',
          userId: 'ada',
          messageId: 'ajs-1',
          timestamp: '2026-01-31T12:00:00.000Z',
          properties: { plan: 'pro' },
        },
      ],
    }),
    `The project API key is the write key: the user name of Basic authentication, ${code('X-Write-Key')}, ${code('writeKey')} in the query or in ` +
      `the body. What follows a colon in it is ignored. ${code('context')} of a batch is the default of its messages, and ` +
      `${code('historical_migration')} marks history. The response is ${code('{"success":true}')}, with ${code('rejected')} as above if messages are ` +
      `invalid; limits and errors are those above. ${code(`GET ${segmentSettingsPath}`)} returns the settings that analytics.js loads, ` +
      `${code(`GET ${sourceConfigPath}`)} those of RudderStack's browser library.`,
  ];
}

function startup(): string[] {
  return [
    '## Startup requests of libraries',
    'Millrace has no feature flags, surveys or recordings. Responses are empty, so that libraries start and send events.',
    table(
      ['Path', 'Response'],
      [
        [`GET, POST ${paths(flagsPaths)}`, 'No flags, and settings of the library.'],
        [`GET ${paths(definitionsPaths)}`, 'No flag definitions.'],
        [`GET ${paths(Object.keys(noFeatures))}`, 'Empty lists.'],
        [`GET ${code('/array/:token/config')}, ${code('/array/:token/config.js')}`, 'Settings of the browser library.'],
        [
          `GET ${code('/static/:file')}, ${code('/static/:version/:file')}, ${code('/array/:token/array.js')}`,
          'The browser library and its parts, from its npm package.',
        ],
        [`GET, POST ${code('/s/')}`, '404: recordings are not accepted.'],
      ],
    ),
  ];
}
