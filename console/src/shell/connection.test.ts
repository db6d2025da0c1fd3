import { expect, it } from 'vitest';
import { connectionOf } from './connection.ts';

const down = {
  status: 'unavailable',
  checks: {
    event_store: { ok: false, detail: 'does not answer' },
    metadata: { ok: true },
    mirror: { ok: false, optional: true, detail: 'behind' },
  },
} as const;

it.each([
  ['offline', false, true, down, { state: 'offline' }],
  ['nobody answers', true, true, undefined, { state: 'unreachable' }],
  ['a part is down', true, false, down, { state: 'impaired', parts: ['event_store: does not answer'] }],
  ['all is well', true, false, { status: 'ok', checks: down.checks } as const, { state: 'ok' }],
  ['nothing is known yet', true, false, undefined, { state: 'ok' }],
])('%s', (_case, online, isError, readiness, connection) => {
  expect(connectionOf(online, isError, readiness)).toEqual(connection);
});
