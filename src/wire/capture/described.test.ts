import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  answerSchema,
  describedCapture,
  segmentAnswerSchema,
  v1AnswerSchema,
  v1ErrorSchema,
} from '../../server/api/openapi-capture.ts';
import { batchBodySchema, v1BodySchema } from '../batch/body-schema.ts';
import { capturePaths, captureV1Errors, captureV1Path } from '../contract/capture.ts';
import { captureErrorCodes } from '../contract/errors.ts';
import { messageTypes } from '../contract/segment.ts';
import { startTestCapture, type TestCapture } from './capture.fixture.ts';

/** Tests that capture does what its OpenAPI description says. */

const ajv = new Ajv({ strict: false, validateFormats: false });
const uuid = '0199a7c4-6f3e-7c1a-9d55-2b1f0c6e8a10';
const event = { event: 'signed up', distinct_id: 'ada' };
const v1Event = { ...event, uuid, timestamp: '2026-01-31T12:00:00Z' };

let capture: TestCapture;
beforeAll(async () => {
  capture = await startTestCapture();
});
afterAll(() => capture[Symbol.asyncDispose]());

const send = (path: string, body: object, headers: Readonly<Record<string, string>> = {}) =>
  capture.test.inject({ method: 'POST', url: path, payload: body, headers });
const v1Headers = (): Record<string, string> => ({
  authorization: `Bearer ${capture.token}`,
  'user-agent': 'test',
  'posthog-sdk-info': 'test/1',
  'posthog-attempt': '1',
  'posthog-request-id': uuid,
  'posthog-request-timestamp': '2026-01-31T12:00:00Z',
});

/** Each event is sent alone in its batch. */
const events: readonly (readonly [what: string, event: unknown])[] = [
  ['only what is required', event],
  ['every field', { ...event, uuid, timestamp: '2026-01-31T12:00:00Z', properties: { a: 1 }, $set: {}, $set_once: {} }],
  ['an id among the properties', { event: 'signed up', properties: { distinct_id: 'ada' } }],
  ['no name', { distinct_id: 'ada' }],
  ['an empty name', { ...event, event: '' }],
  ['a name that is a number', { ...event, event: 7 }],
  ['the longest name', { ...event, event: 'é'.repeat(200) }],
  ['a longer name', { ...event, event: 'é'.repeat(201) }],
  ['no id', { event: 'signed up' }],
  ['an empty id', { ...event, distinct_id: '' }],
  ['an id of white space', { ...event, distinct_id: ' \t' }],
  ['an id that is truncated', { ...event, distinct_id: 'a'.repeat(300) }],
  ['an invalid uuid', { ...event, uuid: 'x' }],
  ['a uuid in capitals', { ...event, uuid: uuid.toUpperCase() }],
  ['a uuid without dashes', { ...event, uuid: uuid.replaceAll('-', '') }],
  ['a uuid in braces', { ...event, uuid: `{${uuid}}` }],
  ['a uuid with only an opening brace', { ...event, uuid: `{${uuid}` }],
  ['a uuid as urn, with white space', { ...event, uuid: ` urn:uuid:${uuid} ` }],
  ['a uuid without one of its dashes', { ...event, uuid: uuid.replace('-', '') }],
  ['properties that are a list', { ...event, properties: [] }],
  ['$set that is a string', { ...event, $set: 'x' }],
  ['$set_once that is a number', { ...event, $set_once: 1 }],
  ['a string instead of an object', 'x'],
];

describe('the description of /batch/', () => {
  const isDescribed = ajv.compile(batchBodySchema);
  const isAnswer = ajv.compile(answerSchema);

  it.each(events)('accepts an event exactly if the description permits it: %s', async (_what, each) => {
    const body = { api_key: capture.token, batch: [each] };
    const answer = await send('/batch/', body);
    expect(answer.statusCode).toBe(isDescribed(body) ? 200 : 400);
    const isAsDescribed =
      answer.statusCode === 200 ? isAnswer(answer.json()) : captureErrorCodes.includes(answer.json().code);
    expect(isAsDescribed).toBe(true);
  });

  it('answers a partly accepted batch as described', async () => {
    const answer = await send('/batch/', { api_key: capture.token, batch: [event, { event: '' }] });
    expect(answer.statusCode).toBe(200);
    expect(answer.json().rejected).toHaveLength(1);
    expect([isAnswer(answer.json()), isAnswer.errors]).toEqual([true, null]);
  });

  it.each([
    ['no key', { batch: [event] }],
    ['an unknown key', { api_key: 'phc_unknown', batch: [event] }],
    ['no events', { batch: [] }],
    ['a string instead of a list', { batch: 'x' }],
  ])('refuses with a documented code: %s', async (_what, body) => {
    const answer = await send('/batch/', body);
    expect(answer.statusCode).toBeGreaterThanOrEqual(400);
    expect(captureErrorCodes).toContain(answer.json().code);
  });

  it('serves every described path, with the same bodies as /batch/', async () => {
    const own = capturePaths.map((path) => `${path}/`);
    expect(Object.keys(describedCapture.paths)).toEqual([...own, captureV1Path, ...segmentPaths]);
    for (const path of own) {
      const answer = await send(path, { api_key: capture.token, batch: [event] });
      expect([path, answer.statusCode]).toEqual([path, 200]);
    }
  });
});

const segmentPaths = ['/v1/batch', ...messageTypes.map((type) => `/v1/${type}`)];

describe('the description of the Segment protocol', () => {
  const isAnswer = ajv.compile(segmentAnswerSchema);
  const message = { userId: 'ada', event: 'signed up', groupId: 'acme', previousId: 'old' };

  it.each(segmentPaths)('%s accepts what is required, and answers as described', async (path) => {
    const { schema } = operationOf(path).requestBody.content['application/json'];
    const isDescribed = ajv.compile(schema);
    const given = path === '/v1/batch' ? { batch: [{ ...message, type: 'track' }] } : message;
    const body = { ...given, writeKey: capture.token };
    expect([isDescribed(body), isDescribed.errors]).toEqual([true, null]);
    const answer = await send(path, body);
    expect([answer.statusCode, isAnswer(answer.json())]).toEqual([200, true]);
  });

  it.each(segmentPaths)('%s refuses what lacks a required member', async (path) => {
    const { schema } = operationOf(path).requestBody.content['application/json'];
    for (const name of schema.required ?? []) {
      const body = { ...message, type: undefined, [name]: undefined, writeKey: capture.token };
      expect([path, name, (await send(path, JSON.parse(JSON.stringify(body)))).statusCode]).toEqual([path, name, 400]);
    }
  });
});

function operationOf(path: string): Operation {
  return describedCapture.paths[path]?.['post'] as unknown as Operation;
}

interface Operation {
  readonly requestBody: {
    readonly content: { readonly 'application/json': { readonly schema: { readonly required?: readonly string[] } } };
  };
}

describe('the description of the v1 endpoint', () => {
  const isDescribed = ajv.compile(v1BodySchema);
  const isAnswer = ajv.compile(v1AnswerSchema);
  const isError = ajv.compile(v1ErrorSchema);
  const created_at = '2026-01-31T12:00:00Z';

  it.each([
    ['only what is required', v1Event],
    ['every field', { ...v1Event, properties: {}, session_id: 's', window_id: 'w', options: {} }],
    ['no name', { ...v1Event, event: undefined }],
    ['a name that is too long', { ...v1Event, event: 'a'.repeat(201) }],
    ['no id', { ...v1Event, distinct_id: undefined }],
    ['no timestamp', { ...v1Event, timestamp: undefined }],
    ['properties that are a list', { ...v1Event, properties: [] }],
    ['options that are a list', { ...v1Event, options: [] }],
  ])('accepts an event exactly if the description permits it: %s', async (_what, each) => {
    const body = { created_at, batch: [each] };
    const answer = await send(captureV1Path, body, v1Headers());
    expect([answer.statusCode, isAnswer(answer.json())]).toEqual([200, true]);
    expect(answer.json().results[uuid].result).toBe(isDescribed(JSON.parse(JSON.stringify(body))) ? 'ok' : 'drop');
  });

  it.each([
    ['no created_at', { batch: [v1Event] }],
    ['no events', { created_at, batch: [] }],
    ['no uuid', { created_at, batch: [{ ...v1Event, uuid: undefined }] }],
    ['an invalid uuid', { created_at, batch: [{ ...v1Event, uuid: 'x' }] }],
  ])('refuses in the described form: %s', async (_what, body) => {
    expect(isDescribed(JSON.parse(JSON.stringify(body)))).toBe(false);
    const answer = await send(captureV1Path, body, v1Headers());
    expect([answer.statusCode, isError(answer.json())]).toEqual([400, true]);
  });

  it('refuses missing headers and unknown keys in the described form', async () => {
    const { 'posthog-attempt': _, ...fewer } = v1Headers();
    for (const [headers, status] of [
      [fewer, 400],
      [{ ...v1Headers(), authorization: 'Bearer phc_x' }, 401],
    ] as const) {
      const answer = await send(captureV1Path, { created_at, batch: [v1Event] }, headers);
      expect([answer.statusCode, isError(answer.json())]).toEqual([status, true]);
      expect(Object.keys(captureV1Errors)).toContain(answer.json().error);
    }
  });
});
