import { captureErrorCodes, apiErrors } from '../../wire/contract/errors.ts';
import { messageTypes, segmentBatchPaths, segmentMessagePaths, type MessageType } from '../../wire/contract/segment.ts';

const writeKey = { type: 'string', description: 'The project API key (phc_…), unless it is in a header.' } as const;

/** Members that the conversion to an event reads, by type of message. */
const specific: Readonly<Record<MessageType, object>> = {
  track: { event: { type: 'string', description: 'Name of the event.' }, properties: { type: 'object' } },
  identify: { traits: { type: 'object', description: 'Person properties.' } },
  page: { name: { type: 'string' }, category: { type: 'string' }, properties: { type: 'object' } },
  screen: { name: { type: 'string' }, category: { type: 'string' }, properties: { type: 'object' } },
  group: { groupId: { type: 'string' }, traits: { type: 'object', description: 'Properties of the group.' } },
  alias: { previousId: { type: 'string', description: 'The id that becomes one of the user.' } },
};
const required: Readonly<Partial<Record<MessageType, string>>> = {
  track: 'event',
  group: 'groupId',
  alias: 'previousId',
};

const common = {
  userId: { type: 'string', description: 'Id of the user; a message needs this or anonymousId.' },
  anonymousId: { type: 'string' },
  messageId: { type: 'string', description: 'A message with the same id and name is stored once.' },
  timestamp: { type: 'string', description: 'ISO 8601, by the clock of the sender. Default: the time of receipt.' },
  sentAt: { type: 'string', description: 'Time of sending, by the same clock, to correct it.' },
  context: { type: 'object' },
} as const;

/** A message sent to the path of its type. */
function messageSchema(type: MessageType): object {
  const own = required[type];
  return {
    type: 'object',
    ...(own === undefined ? {} : { required: [own] }),
    properties: { ...specific[type], ...common, writeKey },
  };
}

export const segmentBatchSchema = {
  type: 'object',
  required: ['batch'],
  properties: {
    batch: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['type'],
        properties: { type: { type: 'string', enum: messageTypes }, ...common },
      },
    },
    context: { type: 'object', description: 'Default for the context of each message.' },
    sentAt: common.sentAt,
    writeKey,
    historical_migration: { type: 'boolean', description: 'Marks history, as in `/batch/`.' },
  },
} as const;

const pathsOf = (type: MessageType): readonly string[] =>
  Object.entries(segmentMessagePaths).flatMap(([path, each]) => (each === type ? [path] : []));

/** Operations of the Segment protocol by path; further paths are named in the description. `answer` is the schema of the response. */
export function segmentOperations(tag: string, answer: object): Readonly<Record<string, { readonly post: object }>> {
  const operation = (
    paths: readonly string[],
    summary: string,
    schema: object,
  ): [string, { readonly post: object }] => [
    paths[0] ?? '',
    {
      post: {
        operationId: `segment${(paths[0] ?? '').replaceAll('/', '_')}`,
        tags: [tag],
        summary,
        description: `Also: ${paths.slice(1).join(', ')}. The key may also be the user name of Basic authentication, or in X-Write-Key.`,
        security: [],
        requestBody: { required: true, content: { 'application/json': { schema } } },
        responses: {
          200: {
            description: 'Every message that is not rejected is on disk.',
            content: { 'application/json': { schema: answer } },
          },
          ...refusals,
        },
      },
    },
  ];
  return Object.fromEntries([
    operation(segmentBatchPaths, 'Send messages of the Segment protocol', segmentBatchSchema),
    ...messageTypes.map((type) => operation(pathsOf(type), `Send a message: ${type}`, messageSchema(type))),
  ]);
}

const refusals = Object.fromEntries(
  [...new Set(captureErrorCodes.map((code) => apiErrors[code].status))].map((status) => [
    status,
    { $ref: `#/components/responses/Error${status}` },
  ]),
);
