import { describe, expect, it } from 'vitest';
import { requestOf, type ImportRequest } from './request.ts';
import { openSource, withTimes } from './open-source.ts';

it('an address at which clouds issue credentials is refused, with its port', async () => {
  const setting = [
    'host=169.254.169.254',
    'port=5433',
    'database=d',
    'user=u',
    'password=p',
    'query=select 1',
    'cursor_column=c',
  ];
  const request = requestOf('mixpanel', [], { source: 'postgres', setting, check: true, to: 'http://127.0.0.1' }, '/');
  const opened = openSource(request, '/');
  const signal = AbortSignal.timeout(5000);
  await expect(opened.source.listParts({}, { signal })).rejects.toThrow(
    /169\.254\.169\.254, .* adds 169\.254\.169\.254:5433/,
  );
  await opened.close();
});

describe('a topic given as a path', () => {
  const asked = (...paths: string[]): ImportRequest =>
    requestOf(
      'mapping',
      paths,
      { source: 'files', fromDate: '2024-01-01', check: true, to: 'http://127.0.0.1', formatOption: [rules] },
      '/',
    );
  const rules = 'mapping={"event":"name","distinct_id":"who","timestamp":"at"}';

  it.each([
    ['kafka://me:secret@host:9092/topic'],
    ['kafka://host:9092'],
    ['kafka://host:9092/one', 'kafka://host:9092/two'],
    ['kafka://host:9092/topic', 'more.ndjson'],
  ])('%s is not a topic, and no secret is repeated', (...paths) => {
    expect(() => openSource(asked(...paths), '/')).toThrow(/expected only kafka:\/\/host:9092\/topic, (?!.*secret)/);
  });

  it('a range of time is that of its messages, as with --source kafka', () => {
    expect(withTimes(asked('kafka://host:9092/topic')).options.choice).toBe(undefined);
    expect(withTimes(asked('a.ndjson')).options.choice?.time?.from).toBe('2024-01-01T00:00:00.000Z');
  });
});
