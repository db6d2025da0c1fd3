import type { Sender } from './home-search.ts';

/** Returns sample code that sends a first event. `site` is the URL of the service. */
export function snippet(sender: Sender, site: string, projectKey: string): string {
  switch (sender) {
    case 'curl': {
      const body = { api_key: projectKey, batch: [{ event: 'first event', distinct_id: 'me', properties: {} }] };
      return [
        `curl ${site}/batch/ \\`,
        "  -H 'Content-Type: application/json' \\",
        `  -d '${JSON.stringify(body)}'`,
      ].join('\n');
    }
    case 'node':
      return [
        '// npm install posthog-node',
        "import { PostHog } from 'posthog-node';",
        '',
        `const client = new PostHog('${projectKey}', { host: '${site}' });`,
        "client.capture({ distinctId: 'me', event: 'first event' });",
        'await client.shutdown();',
      ].join('\n');
    case 'python':
      return [
        '# pip install posthog',
        'from posthog import Posthog',
        '',
        `posthog = Posthog('${projectKey}', host='${site}')`,
        "posthog.capture('first event', distinct_id='me')",
        'posthog.shutdown()',
      ].join('\n');
    case 'browser':
      return [
        '// npm install posthog-js',
        "import posthog from 'posthog-js';",
        '',
        `posthog.init('${projectKey}', { api_host: '${site}' });`,
        "posthog.capture('first event');",
      ].join('\n');
  }
}

/** Returns an import command. The personal API key lets it verify that every event was stored. */
export function importCommand(site: string, projectKey: string): string {
  return [
    'npx millrace import mixpanel export.ndjson.gz \\',
    `  --to ${site} \\`,
    `  --project-key ${projectKey} \\`,
    '  --api-key phx_…',
  ].join('\n');
}
