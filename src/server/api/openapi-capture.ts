import { batchBodySchema, v1BodySchema } from '../../wire/batch/body-schema.ts';
import { capturePaths, captureV1Errors, captureV1Path, listedRejectionsMax } from '../../wire/contract/capture.ts';
import { apiErrors, captureErrorCodes } from '../../wire/contract/errors.ts';
import { ingestionWarnings } from '../../wire/contract/warnings.ts';
import type { Described } from './openapi-schema.ts';
import { segmentOperations } from './openapi-segment.ts';

const tag = 'Capture';

const rejected = {
  rejected: {
    type: 'array',
    maxItems: listedRejectionsMax,
    description: 'Rejected events; each is kept as a dead letter. Absent if all were accepted.',
    items: {
      type: 'object',
      required: ['index', 'code', 'detail', 'attr'],
      properties: {
        index: { type: 'integer', minimum: 0, description: 'Position in the batch.' },
        code: { type: 'string', enum: Object.keys(ingestionWarnings) },
        detail: { type: 'string' },
        attr: { type: ['string', 'null'], description: 'The invalid field, e.g. `batch[3].distinct_id`.' },
      },
    },
  },
  rejected_total: { type: 'integer', description: 'Number of rejected events, when `rejected` does not list all.' },
} as const;

/** Response to an accepted batch. */
export const answerSchema = {
  type: 'object',
  required: ['status'],
  properties: {
    status: { type: 'string', const: 'Ok', description: 'Every event that is not rejected is on disk.' },
    ...rejected,
  },
} as const;

/** Response to accepted messages of the Segment protocol. */
export const segmentAnswerSchema = {
  type: 'object',
  required: ['success'],
  properties: { success: { type: 'boolean', const: true }, ...rejected },
} as const;

export const v1AnswerSchema = {
  type: 'object',
  required: ['results'],
  properties: {
    results: {
      type: 'object',
      description: 'Result of each event by uuid.',
      additionalProperties: {
        type: 'object',
        required: ['result'],
        properties: {
          result: { type: 'string', enum: ['ok', 'drop', 'warning', 'retry'] },
          details: { type: 'string' },
        },
      },
    },
  },
} as const;

export const v1ErrorSchema = {
  type: 'object',
  required: ['error', 'error_description', 'error_uri'],
  properties: {
    error: { type: 'string', enum: Object.keys(captureV1Errors) },
    error_description: { type: 'string' },
    error_uri: { type: 'string' },
  },
} as const;

const jsonOf = (schema: object): object => ({ 'application/json': { schema } });
const named = (schema: string): object => ({ $ref: `#/components/schemas/${schema}` });

function batchOperation(path: string): Readonly<Record<string, unknown>> {
  const statuses = [...new Set(captureErrorCodes.map((code) => apiErrors[code].status))];
  const refusals = statuses.map((status) => [status, { $ref: `#/components/responses/Error${status}` }]);
  return {
    operationId: `capture${path.replaceAll('/', '_')}`,
    tags: [tag],
    summary: path === '/batch' ? 'Send events' : 'Send events (alias of /batch/)',
    description:
      'A 200 response means that every event that is not rejected survives a kill at any later moment. Retrying is safe: an event ' +
      'with the same uuid is stored once. The body may be compressed with gzip, and may be a single event or an array of events that ' +
      'each contain `api_key` or `token`. Older forms (base64, lz64, forms, `data` in the query of a GET) are also accepted.',
    security: [],
    parameters: [
      {
        name: 'Prefer',
        in: 'header',
        required: false,
        schema: { type: 'string', examples: ['handling=strict'] },
        description: '`handling=strict` refuses the whole request if one event is invalid.',
      },
    ],
    requestBody: { required: true, content: jsonOf(named('CaptureBatch')) },
    responses: {
      200: { description: 'Taken.', content: jsonOf(named('CaptureAnswer')) },
      ...Object.fromEntries(refusals),
    },
  };
}

const headers: Readonly<Record<string, { readonly text: string; readonly schema: object }>> = {
  'PostHog-Sdk-Info': {
    text: 'The client library.',
    schema: { type: 'string', pattern: '^[^/\\s]+/\\S+$', examples: ['my-app/1.0.0'] },
  },
  'PostHog-Attempt': {
    text: 'Number of the attempt, from 1.',
    schema: { type: 'string', pattern: '^[1-9][0-9]{0,8}$', examples: ['1'] },
  },
  'PostHog-Request-Id': {
    text: 'Returned in the response.',
    schema: v1BodySchema.properties.batch.items.properties.uuid,
  },
  'PostHog-Request-Timestamp': {
    text: 'Time at which the client sent the request.',
    schema: v1BodySchema.properties.created_at,
  },
  'User-Agent': { text: 'Must not be empty.', schema: { type: 'string', minLength: 1, examples: ['my-app'] } },
};

function v1Operation(): Readonly<Record<string, unknown>> {
  const statuses = [...new Set(Object.values(captureV1Errors))];
  const refusals = statuses.map((status) => {
    const tags = Object.entries(captureV1Errors).filter(([, each]) => each === status);
    const content = jsonOf(named('CaptureV1Error'));
    return [status, { description: tags.map(([name]) => name).join(', '), content }] as const;
  });
  return {
    operationId: 'capture_v1',
    tags: [tag],
    summary: 'Send events and receive a result for each',
    description: 'The body may be compressed: Content-Encoding gzip, deflate, br or zstd.',
    security: [{ projectApiKey: [] }],
    parameters: Object.entries(headers).map(([name, { text, schema }]) => ({
      name,
      in: 'header',
      required: true,
      schema,
      description: text,
    })),
    requestBody: { required: true, content: jsonOf(v1BodySchema) },
    responses: {
      200: { description: 'Every event with result `ok` is on disk.', content: jsonOf(v1AnswerSchema) },
      ...Object.fromEntries(refusals),
    },
  };
}

/** Capture paths, which are not routes of the management API, for the same document. */
export const describedCapture: Described = {
  tags: [tag],
  paths: {
    ...Object.fromEntries(capturePaths.map((path) => [`${path}/`, { post: batchOperation(path) }])),
    [captureV1Path]: { post: v1Operation() },
    ...segmentOperations(tag, named('SegmentAnswer')),
  },
  securitySchemes: {
    projectApiKey: { type: 'http', scheme: 'bearer', description: 'A project API key (phc_…).' },
  },
  schemas: {
    CaptureBatch: batchBodySchema,
    CaptureAnswer: answerSchema,
    CaptureV1Error: v1ErrorSchema,
    SegmentAnswer: segmentAnswerSchema,
  },
};
