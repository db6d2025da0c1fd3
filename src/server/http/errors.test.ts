import { describe, expect, it } from 'vitest';
import { ApiError } from '../../wire/contract/errors.ts';
import { LogUnavailableError } from '../../log/eventlog.ts';
import { StoreUnavailableError } from '../../stores/events/eventstore.ts';
import { toApiError } from './error-answer.ts';

const coded = (code: string, more: object = {}) => Object.assign(new Error('secret detail'), { code, ...more });

describe('toApiError', () => {
  it.each([
    ['an unavailable event log', new LogUnavailableError('disk full'), 503],
    ['an unavailable event store', new StoreUnavailableError('no socket'), 503],
    ['a locked SQLite file', coded('ERR_SQLITE_ERROR', { errcode: 5 }), 503],
    ['a full disk under SQLite', coded('ERR_SQLITE_ERROR', { errcode: 13 }), 503],
    ['an I/O error with its extended code', coded('ERR_SQLITE_ERROR', { errcode: 10 | (3 << 8) }), 503],
    ['a mistake in SQL', coded('ERR_SQLITE_ERROR', { errcode: 1 }), 500],
    ['a broken constraint', coded('ERR_SQLITE_ERROR', { errcode: 19 }), 500],
    ['PostgreSQL shutting down', coded('57P01'), 503],
    ['PostgreSQL out of connections', coded('53300'), 503],
    ['PostgreSQL aborting a transaction in a deadlock', coded('40P01'), 503],
    ['PostgreSQL aborting a transaction in a serialization conflict', coded('40001'), 503],
    ['a PostgreSQL transaction that broke a constraint at its end', coded('40002'), 500],
    ['PostgreSQL without a listener', coded('ECONNREFUSED'), 503],
    ['a lost PostgreSQL connection', new Error('Connection terminated unexpectedly'), 503],
    ['a PostgreSQL constraint', coded('23505'), 500],
    ['a string', 'thrown', 500],
    ['undefined', undefined, 500],
    ['an unexpected framework error', coded('FST_ERR_SEND_INSIDE_ONERR', { statusCode: 500 }), 500],
    ['a body with a wrong length', coded('FST_ERR_CTP_INVALID_CONTENT_LENGTH', { statusCode: 400 }), 400],
    ['another framework refusal', coded('FST_ERR_NEW', { statusCode: 400 }), 400],
  ])('answers %s', (_name, error, status) => {
    const answer = toApiError(error);
    expect(answer.status).toBe(status);
    expect(JSON.stringify(answer.body())).not.toContain('secret detail');
    expect(answer.headers['retry-after']).toBe(status === 503 ? '5' : undefined);
    expect(answer.cause).toBe(error);
  });

  it('does not change an ApiError', () => {
    const error = new ApiError('conflict', 'Busy.');
    expect(toApiError(error)).toBe(error);
  });
});
