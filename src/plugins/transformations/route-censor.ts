import type { SettingValues } from '../fields.ts';
import type { TransformationHost } from '../host.ts';
import { defineTransformation, SettingsError, wrongSetting } from '../plugin.ts';
import type { JsonValue } from '../../base/json.ts';
import { changeOwnTexts } from '../property-path.ts';
import { createRouteCensor, type RouteCensor } from './route-patterns.ts';
import { jsonSetting, listSetting } from '../setting-values.ts';

export const routeCensor = defineTransformation({
  slug: 'route-censor',
  name: 'Route censor',
  description: 'Removes ids, names and other route parameters from page addresses.',
  alsoKnownAs: ['Route Censor', 'posthog-route-censor-plugin'],
  differences: [
    'Parameters are replaced at their position; the published one replaces the first equal text, and none in percent-encoded addresses.',
    'A route without "include" censors nothing; the published one throws.',
    'Routes that are not a list are refused on saving.',
  ],
  fields: [
    {
      key: 'routes',
      name: 'Routes (file)',
      type: 'attachment',
      hint: 'JSON list of React Router routes: [{"path": "/users/:id", "include": ["id"]}]. Nested with "children".',
    },
    {
      key: 'routesJson',
      name: 'Routes (text)',
      type: 'json',
      hint: 'The same list as text. A file takes precedence.',
    },
    {
      key: 'properties',
      name: 'Properties',
      type: 'string',
      default: '$current_url,$referrer,$pathname,$initial_current_url,initial_pathname,initial_referrer',
      hint: 'Comma-separated properties with page addresses and paths.',
    },
    {
      key: 'set_properties',
      name: 'Properties in $set',
      type: 'string',
      default: '$initial_current_url,$initial_pathname,$initial_referrer',
      hint: 'Comma-separated.',
    },
    {
      key: 'set_once_properties',
      name: 'Properties in $set_once',
      type: 'string',
      default: '$initial_current_url,$initial_pathname,$initial_referrer',
      hint: 'Comma-separated.',
    },
  ],
  example: {
    settings: { routesJson: '[{"path": "/users/:name/posts/:post", "include": ["name"]}]' },
    before: {
      event: '$pageview',
      properties: { $current_url: 'https://example.com/users/ada/posts/7?from=mail', $pathname: '/users/ada/posts/7' },
    },
    after: {
      properties: { $current_url: 'https://example.com/users/:name/posts/7', $pathname: '/users/:name/posts/7' },
    },
  },
  create(settings, host) {
    const censorPath = createRouteCensor('routes', readRoutes(settings, host));
    const censor = (address: string): string => censorAddress(address, censorPath);
    const lists = {
      event: listSetting(settings, 'properties'),
      set: listSetting(settings, 'set_properties'),
      setOnce: listSetting(settings, 'set_once_properties'),
    };
    return (event) => {
      const { properties } = event;
      changeOwnTexts(properties, lists.event, censor);
      changeOwnTexts(properties['$set'], lists.set, censor);
      changeOwnTexts(properties['$set_once'], lists.setOnce, censor);
      return event;
    };
  },
});

/** Keeps only origin and path of a whole address; anything else counts as a path. */
function censorAddress(value: string, censorPath: RouteCensor): string {
  if (value.startsWith('/')) return censorPath(value);
  const url = URL.parse(value);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return censorPath(value);
  return url.origin + censorPath(url.pathname);
}

function readRoutes(settings: SettingValues, { attachments }: TransformationHost): JsonValue {
  const file = attachments.get('routes');
  if (file === undefined) {
    const given = jsonSetting(settings, 'routesJson');
    if (given === undefined) throw new SettingsError('give the routes: a file for "routes", or "routesJson"');
    return given;
  }
  try {
    return JSON.parse(new TextDecoder().decode(file.content)) as JsonValue;
  } catch (cause) {
    throw wrongSetting('routes', 'expected a file with a JSON list of routes', { cause });
  }
}
