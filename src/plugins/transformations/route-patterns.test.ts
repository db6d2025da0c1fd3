import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../base/json.ts';
import { createRouteCensor } from './route-patterns.ts';

const users: JsonValue = [
  { path: '/users/:id', include: ['id'] },
  { path: '/users/me', include: [] },
  {
    path: '/teams/:team',
    include: ['team'],
    children: [
      { index: true },
      { path: 'members/:member', include: ['member'] },
      { path: '/teams/:team/settings', include: [] },
    ],
  },
  { path: '/files/*', include: ['*'] },
  { path: '/Case/:x', include: ['x'], caseSensitive: true },
  { path: '/shop/:lang?/:item', include: ['item'] },
  { path: '/docs/:page.html', include: ['page'] },
  { path: '/plain/:a/:b', include: ['b'] },
];

describe('routes', () => {
  it.each([
    ['/users/ada', '/users/:id'],
    ['/users/ada/', '/users/:id/'],
    ['/USERS/ada', '/USERS/:id'],
    ['/users/me', '/users/me'],
    ['/users/users', '/users/:id'],
    ['/users/a%20b', '/users/:id'],
    ['/users/%E4%BD%A0?x=1#y', '/users/:id?x=1#y'],
    ['/users/%zz', '/users/:id'],
    ['/users', '/users'],
    ['/users/ada/more', '/users/ada/more'],
    ['users/ada', 'users/ada'],
    ['/teams/red', '/teams/:team'],
    ['/teams/red/members/ada', '/teams/:team/members/:member'],
    ['/teams/red/settings', '/teams/:team/settings'],
    ['/teams/red/other', '/teams/red/other'],
    ['/files/a/b.txt', '/files/:*'],
    ['/files', '/files'],
    ['/Case/ada', '/Case/:x'],
    ['/case/ada', '/case/ada'],
    ['/shop/hat', '/shop/:item'],
    ['/shop/de/hat', '/shop/de/:item'],
    ['/docs/ada.html', '/docs/:page.html'],
    ['/docs/.html', '/docs/.html'],
    ['/plain/1/2', '/plain/1/:b'],
    ['//users/ada', '//users/ada'],
    ['', ''],
  ])('%s → %s', (path, expected) => {
    expect(createRouteCensor('routes', users)(path)).toBe(expected);
  });

  it.each<[string, JsonValue]>([
    ['expected a JSON list', {}],
    ['route 1: expected an object', ['/x']],
    ['route 2: "path" must be text', [{ path: '/x' }, { path: 5 }]],
    ['route 1: "include" and "children" must be lists', [{ path: '/x', include: 'x' }]],
    ['route 1.1: an absolute path must start', [{ path: '/x', children: [{ path: '/y' }] }]],
    ['more than 2000 routes', [{ path: `/${':a?/'.repeat(15)}` }]],
  ])('%s', (message, routes) => {
    expect(() => createRouteCensor('routes', routes)).toThrow(message);
  });

  it('nesting of routes is limited', () => {
    let route: JsonValue = { path: 'x' };
    for (let depth = 0; depth < 40; depth++) route = { path: 'x', children: [route] };
    expect(() => createRouteCensor('routes', [route])).toThrow('nest too deeply');
  });
});
