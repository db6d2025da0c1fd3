import { describe, expect, it } from 'vitest';
import { routeCensor } from './route-censor.ts';
import { testHost } from '../../../test/support/transformation-host.ts';
import { transform, transformed } from './transformation.fixture.ts';

const routesJson = [{ path: '/users/:name', include: ['name'] }];

describe('Route censor', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = routeCensor.example;
    expect(transform(routeCensor, settings, before)).toEqual(after);
  });

  it('censors only its properties, on the event and on the person', () => {
    const before = {
      $referrer: 'https://user:pass@example.com:8080/users/ada?x=1#y',
      $pathname: '/users/ada?x=1',
      other: '/users/ada',
      $set: { $initial_pathname: '/users/ada', $pathname: '/users/ada' },
      $set_once: { $initial_referrer: 'http://a.b/users/ada' },
    };
    expect(transformed(routeCensor, { routesJson }, before)).toEqual({
      $referrer: 'https://example.com:8080/users/:name',
      $pathname: '/users/:name?x=1',
      other: '/users/ada',
      $set: { $initial_pathname: '/users/:name', $pathname: '/users/ada' },
      $set_once: { $initial_referrer: 'http://a.b/users/:name' },
    });
  });

  it('an address that matches no route loses its parameters, which may contain the same values', () => {
    const before = { $current_url: 'https://a.b/other?name=ada' };
    expect(transformed(routeCensor, { routesJson }, before)).toEqual({ $current_url: 'https://a.b/other' });
  });

  it.each([5, null, '', 'mailto:ada@example.com', {}])('does not change %j', (value) => {
    expect(transformed(routeCensor, { routesJson }, { $current_url: value })).toEqual({ $current_url: value });
  });

  it('reads the routes from a file, which takes precedence over the text', () => {
    const content = new TextEncoder().encode('[{"path": "/files/:file", "include": ["file"]}]');
    const file = { fileName: 'routes.json', contentType: 'application/json', content };
    const host = testHost({ attachments: new Map([['routes', file]]) });
    const result = transform(routeCensor, { routesJson }, { properties: { $pathname: '/files/a' } }, host);
    expect(result?.properties).toEqual({ $pathname: '/files/:file' });
  });

  it('refuses to start without routes, and with a file without routes', () => {
    expect(() => routeCensor.create({}, testHost())).toThrow('give the routes');
    const file = { fileName: 'x', contentType: 'text/plain', content: new TextEncoder().encode('no') };
    const host = testHost({ attachments: new Map([['routes', file]]) });
    expect(() => routeCensor.create({}, host)).toThrow('expected a file with a JSON list');
  });
});
