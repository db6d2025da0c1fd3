import {
  bodyEventsMax,
  distinctIdCharsMax,
  eventDepthMax,
  eventKeysMax,
  nameCharsMax,
} from '../../src/wire/batch/limits.ts';
import { compressionNames, wrappedBytesMax, lz64BytesMax, lz64CharsMax } from '../../src/wire/capture/decode.ts';
import { otherEncodings } from '../../src/wire/capture/inflate-encoding.ts';
import { unknownBodyBytesMax } from '../../src/wire/capture/known-key.ts';
import { definitionsPaths, flagsPaths, noFeatures } from '../../src/wire/capture/routes.ts';
import { settingDefinitions, type SettingDefinition, type SettingName } from '../../src/server/config/settings.ts';
import { capturePaths, captureV1Errors, captureV1Path, listedRejectionsMax } from '../../src/wire/contract/capture.ts';
import { apiErrors, captureErrorCodes } from '../../src/wire/contract/errors.ts';
import { freeEventsInAll, freeEventsPerMinute } from '../../src/wire/contract/historical-settings.ts';
import { code, json, page, table } from './markdown.ts';

const count = (value: number): string => value.toLocaleString('en');

/** Paths that events go to, and what client libraries ask for when they start. */
export function capturePage(): string {
  return page(
    'Capture',
    'Where client libraries send events, and what they are answered. No personal key is needed: the project API key (`phc_…`) is in the ' +
      'body. Every path answers with and without a slash at its end, and to pages of any origin. ' +
      '[Client libraries](../guides/client-libraries.md) says how to point them here, [the errors](errors.md) what an error looks like.',
    ...events(),
    ...bodies(),
    ...answers(),
    ...limits(),
    ...v1(),
    ...startup(),
  );
}

const paths = (each: readonly string[]): string => each.map((path) => code(`${path}/`)).join(', ');

function events(): string[] {
  return [
    '## Paths for events',
    `POST to ${paths(capturePaths)}: one and the same, under the names that libraries use. GET takes the same in ${code('data')} of the query. ` +
      `On paths that begin with ${code('/engage')} an object without a name is an ${code('$identify')}.`,
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
        [
          code('api_key'),
          'The project API key; `token` is another name. Each event may carry it instead, as long as all agree.',
        ],
        [code('batch'), 'The events. An array without an object around it, and a single event, are taken as well.'],
        [
          code('historical_migration'),
          'History: events use a separate lane, their times are kept exactly, and they are metered separately. Only valid at the root.',
        ],
        [
          code('sent_at'),
          'When the client sent it, by its own clock, ISO 8601: the times of live events are set right by the difference to the arrival, which also holds the time on the way: what one device sends in requests of different speed may change its order. A difference of more than 30 s gives the warning `clock_skew_corrected`.',
        ],
        [code('event'), `The name, required; at most ${nameCharsMax} characters.`],
        [
          code('distinct_id'),
          `Whose event it is, required; in the event or in its properties, also as ${code('$distinct_id')}. Cut at ${distinctIdCharsMax} characters.`,
        ],
        [
          code('uuid'),
          'The same uuid, day, name and `distinct_id` are the same event, which is stored once: the first one stays. One that comes again with another time or other properties gives the warning `sent_again_with_other_content`, if not too many events (about 65,000) came between. Default of a live event: a new one. Default of a historical event: one made of its content, so that the same event sent again is stored once.',
        ],
        [code('timestamp'), 'ISO 8601. Default: the time of arrival.'],
        [
          code('offset'),
          'Live events alone: how many milliseconds before its arrival it happened. Stands before `timestamp`.',
        ],
        [
          `${code('properties')}, ${code('$set')}, ${code('$set_once')}`,
          "Objects; PHP's `[]` is an empty one. The latter two change the person: the time of the event decides, not its arrival.",
        ],
      ],
    ),
  ];
}

function bodies(): string[] {
  return [
    '## Bodies',
    'A body is read for what it is, whatever its `Content-Type` says.',
    table(
      ['Form', 'How it is recognised'],
      [
        [
          'JSON',
          'By its first character. `NaN` and `Infinity`, which some libraries write, are no JSON: such a body is refused as a whole, and the ' +
            'error names the event. Send `null` instead.',
        ],
        ['gzip', 'By its first bytes; `Content-Encoding` and `compression=` need not say so.'],
        [
          'base64',
          `By its look, also of gzip; on \`/e/\`, \`/capture/\`, \`/engage/\` and \`/track/\` twice. At most ${count(wrappedBytesMax)} bytes.`,
        ],
        [
          'lz-string',
          `By \`compression=lz64\`. At most ${count(lz64BytesMax)} bytes, ${count(lz64CharsMax)} characters unpacked.`,
        ],
        [
          'a form',
          `By \`data=\` at its beginning; \`data\` is one of the forms above, \`compression\` as in the query. At most ${count(wrappedBytesMax)} bytes.`,
        ],
        ['`data` in the query', 'Stands for the body when it is not empty.'],
      ],
    ),
    `Names that ${code('compression=')} may have: ${Object.keys(compressionNames).map(code).join(', ')}. Any other ` +
      `${code('Content-Encoding')} than these is answered with 415.`,
  ];
}

function answers(): string[] {
  return [
    '## Answers',
    `${code('{"status":"Ok"}')} with 200: every event is on disk, and survives a kill at any later moment. ` +
      'Where some events could not be taken, the others were, and the answer lists the bad ones:',
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
    `Each is kept as a dead letter, with the codes of [ingestion warnings](warnings.md). At most ${listedRejectionsMax.toLocaleString('en')} are listed; ` +
      `${code('rejected_total')} says how many there are when there are more. A request without any good event is refused as a whole, and ` +
      `so is one with a bad event and ${code('Prefer: handling=strict')}. ${code('beacon=1')} in the query has 204 answered instead of 200.`,
    table(
      ['Status', 'Code', 'Meaning'],
      captureErrorCodes.map((each) => [String(apiErrors[each].status), code(each), apiErrors[each].meaning]),
    ),
    'Libraries send again after 408, 429 and 503, and give up what is refused otherwise: overload and trouble of storage are 503 with ' +
      '`Retry-After`, never anything else. Sending again doubles no event that has a uuid. A request that is refused as a whole leaves no dead letter.',
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
          'Body, unpacked, that may have its project key anywhere; a larger one has it in so many first or last bytes.',
          count(unknownBodyBytesMax),
          '',
        ],
        ['Events of one body.', count(bodyEventsMax), ''],
        ['Levels of nesting of one event.', count(eventDepthMax), ''],
        ['Object keys of one event.', count(eventKeysMax), ''],
        [
          'History without an agreement, where one is required.',
          `${count(freeEventsPerMinute)} events a minute, ${count(freeEventsInAll)} in all`,
          code(settingDefinitions.historicalAgreement.env),
        ],
      ],
    ),
  ];
}

function v1(): string[] {
  return [
    '## The v1 endpoint',
    `POST ${code(captureV1Path)}: the project API key is in ${code('Authorization: Bearer')}, the answer has a result for each event ` +
      `by its uuid. Required headers: ${code('Content-Type: application/json')}, ${code('User-Agent')}, ${code('PostHog-Sdk-Info')} (name/version), ` +
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
    `${code('drop')}: the event cannot be taken; ${code('details')} says why. Errors have the body ${code('{error, error_description, error_uri}')}:`,
    table(
      ['Status', 'Error'],
      Object.entries(captureV1Errors).map(([error, status]) => [String(status), code(error)]),
    ),
  ];
}

function startup(): string[] {
  return [
    '## What libraries ask for at their start',
    'Flags, surveys and recordings are not this service’s work: the responses are empty, so that libraries start and send.',
    table(
      ['Path', 'Answer'],
      [
        [`GET, POST ${paths(flagsPaths)}`, 'No flags, and the settings of the library.'],
        [`GET ${paths(definitionsPaths)}`, 'No definitions of flags.'],
        [`GET ${paths(Object.keys(noFeatures))}`, 'None.'],
        [
          `GET ${code('/array/:token/config')}, ${code('/array/:token/config.js')}`,
          'The settings of the browser library.',
        ],
        [
          `GET ${code('/static/:file')}, ${code('/static/:version/:file')}, ${code('/array/:token/array.js')}`,
          'The browser library and its parts, from its npm package.',
        ],
        [`GET, POST ${code('/s/')}`, '404: recordings are not taken.'],
      ],
    ),
  ];
}
