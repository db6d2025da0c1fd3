import { describe, expect, it } from 'vitest';
import { createFindPath } from './find-path.ts';

const paths = [
  '/api/scopes',
  '/api/projects',
  '/api/projects/:project_id',
  '/api/projects/:project_id/configs',
  '/api/projects/:project_id/configs/rearrange',
  '/api/projects/:project_id/configs/:id',
  '/api/projects/:project_id/configs/:id/logs',
  '/api/users/@me',
  '/api/users/:user_id/sessions',
];
const find = createFindPath([
  ...paths.map((path) => ({ route: { method: 'GET' as const, path } })),
  { route: { method: 'PATCH' as const, path: '/api/projects/:project_id/configs/:id' } },
]);

describe('the routes of a path', () => {
  it.each<[url: string, pattern: string, params: Record<string, string>]>([
    ['/api/scopes', '/api/scopes', {}],
    ['/api/scopes/', '/api/scopes', {}],
    ['/api/scopes/?a=/b/', '/api/scopes', {}],
    ['/api/scopes#/a?b', '/api/scopes', {}],
    ['http://events.example:8000/api/scopes/?a', '/api/scopes', {}],
    ['/api/projects/@current', '/api/projects/:project_id', { project_id: '@current' }],
    ['/api/environments/7/configs/', '/api/environments/:project_id/configs', { project_id: '7' }],
    ['/api/projects/7/configs/rearrange', '/api/projects/:project_id/configs/rearrange', { project_id: '7' }],
    // No route continues after the fixed segment.
    [
      '/api/projects/7/configs/rearrange/logs',
      '/api/projects/:project_id/configs/:id/logs',
      { project_id: '7', id: 'rearrange' },
    ],
    ['/api/users/@me/sessions', '/api/users/:user_id/sessions', { user_id: '@me' }],
    [
      '/api/projects/%40current/configs/a%2Fb%20%F0%9F%98%80',
      '/api/projects/:project_id/configs/:id',
      { project_id: '@current', id: 'a/b 😀' },
    ],
    ['/api/projects/__proto__', '/api/projects/:project_id', { project_id: '__proto__' }],
    ['/api/projects/12345678901234567890', '/api/projects/:project_id', { project_id: '12345678901234567890' }],
    [`/api/projects/${'x'.repeat(200)}`, '/api/projects/:project_id', { project_id: 'x'.repeat(200) }],
  ])('%s is found', (url, pattern, params) => {
    expect(find(url)).toMatchObject({ pattern, params });
    expect(Object.keys(find(url)?.params ?? {})).toEqual(Object.keys(params));
  });

  it.each([
    '/',
    '/api',
    '/api//scopes',
    '/api/scopes//',
    '/api/scopes/more',
    '/API/scopes',
    '/api/environments',
    '/api/projects/:project_id/nothing',
    '/api/constructor',
    `/api/projects/${'x'.repeat(201)}`,
    `/api/${'projects/'.repeat(10_000)}`,
    'api/scopes',
    '*',
  ])('%s is not', (url) => {
    expect(find(url)).toBeUndefined();
  });

  it('are known by method, HEAD with GET', () => {
    expect([...(find('/api/projects/1/configs/2')?.byMethod.keys() ?? [])]).toEqual(['GET', 'HEAD', 'PATCH']);
  });
});
