import { expect, it } from 'vitest';
import { requestOf } from './request.ts';
import { openSource } from './open-source.ts';

it('an address at which clouds hand out credentials is refused, with its port', async () => {
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
