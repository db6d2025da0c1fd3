import type { RejectedEvent } from './capture.ts';

/** Message types of the Segment protocol. */
export const messageTypes = ['track', 'identify', 'page', 'screen', 'group', 'alias'] as const;
export type MessageType = (typeof messageTypes)[number];

/** Paths that accept a batch: of Segment (older libraries send to `import`), RudderStack and Jitsu. */
export const segmentBatchPaths = [
  '/v1/batch',
  '/v1/b',
  '/v1/import',
  '/beacon/v1/batch',
  '/api/s/batch',
  '/api/s/s2s/batch',
] as const;

/** Paths that accept one message, by its type. Browser libraries use the first letter. */
export const segmentMessagePaths: Readonly<Record<string, MessageType>> = Object.fromEntries(
  messageTypes.flatMap((type) =>
    [`/v1/${type}`, `/v1/${type.slice(0, 1)}`, `/api/s/${type}`, `/api/s/s2s/${type}`].map((path) => [path, type]),
  ),
);

/** Settings that Segment's browser library loads before it sends. */
export const segmentSettingsPath = '/v1/projects/:key/settings';

/** Configuration that RudderStack's browser library loads before it sends. */
export const sourceConfigPath = '/sourceConfig';

/** Response to an accepted request: every message that is not rejected is durable. */
export interface SegmentAnswer {
  readonly success: true;
  readonly rejected?: readonly RejectedEvent[];
  /** Number of rejected messages, when `rejected` does not list all of them. */
  readonly rejected_total?: number;
}
