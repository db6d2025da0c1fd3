import { afterEach, describe, expect, it, vi } from 'vitest';
import { ApiError, isSignedOut, isTransient } from './api-error.ts';
import { request, urlOf } from './request.ts';

afterEach(() => vi.unstubAllGlobals());

function stubResponses(...responses: readonly (Response | Error)[]) {
  const remaining = [...responses];
  const fetch = vi.fn<typeof globalThis.fetch>(async () => {
    const next = remaining.shift();
    if (next instanceof Response) return next;
    throw next ?? new Error('no response left');
  });
  vi.stubGlobal('fetch', fetch);
  return fetch;
}

describe('a request', () => {
  it('sends JSON and reads JSON', async () => {
    const fetch = stubResponses(Response.json({ id: 1 }, { status: 201 }));
    expect(await request('/api/things', { method: 'POST', body: { name: 'x' }, query: { dry_run: true } })).toEqual({
      id: 1,
    });
    const [url, init] = fetch.mock.calls[0] ?? [];
    expect([url, init?.body, init?.method]).toEqual(['/api/things?dry_run=true', '{"name":"x"}', 'POST']);
  });

  it('an empty response is undefined', async () => {
    stubResponses(new Response(null, { status: 204 }));
    expect(await request('/api/things/1', { method: 'DELETE' })).toBeUndefined();
  });

  it('an error response keeps code, detail, field and all field errors', async () => {
    const errors = [{ code: 'required', detail: 'This field is required.', attr: 'name' }];
    stubResponses(Response.json({ type: 'validation_error', ...errors[0], errors }, { status: 400 }));
    const error = await request('/api/things').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({
      status: 400,
      code: 'required',
      attr: 'name',
      detail: 'This field is required.',
      errors,
    });
    expect([isTransient(error), isSignedOut(error)]).toEqual([false, false]);
  });

  it('distinguishes no response, retry later, signed out, and a response that is not from the API', async () => {
    const busy = Response.json(
      { code: 'unavailable', detail: 'Later.' },
      { status: 503, headers: { 'retry-after': '2' } },
    );
    const unknown = Response.json({ code: 'not_authenticated', detail: 'No.' }, { status: 401 });
    stubResponses(new TypeError('refused'), busy, unknown, new Response('<h1>Bad gateway</h1>', { status: 502 }));
    const errors: unknown[] = [];
    for (let i = 0; i < 4; i += 1) errors.push(await request('/api/x').catch((thrown: unknown) => thrown));
    expect(errors.map((error) => (error instanceof ApiError ? error.code : error))).toEqual([
      'unreachable',
      'unavailable',
      'not_authenticated',
      'unreadable',
    ]);
    expect(errors.map(isTransient)).toEqual([true, true, false, true]);
    expect(errors.map(isSignedOut)).toEqual([false, false, true, false]);
    expect(errors[1]).toMatchObject({ retryAfterMs: 2000 });
  });

  it('an aborted request throws the browser error, not an ApiError', async () => {
    const abort = new AbortController();
    abort.abort();
    stubResponses(new DOMException('aborted', 'AbortError'));
    await expect(request('/api/x', { signal: abort.signal })).rejects.not.toBeInstanceOf(ApiError);
  });

  it('unset parameters are omitted from the URL', () => {
    expect(
      urlOf('/a', { q: 'x y&z', none: undefined, nothing: null, empty: '', list: [1, 2], zero: 0, no: false }),
    ).toBe('/a?q=x%20y%26z&list=1%2C2&zero=0&no=false');
    expect(urlOf('/a?b=1', { c: 2 })).toBe('/a?b=1&c=2');
  });
});
