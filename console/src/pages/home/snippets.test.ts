import { describe, expect, it } from 'vitest';
import { senders } from './home-search.ts';
import { importCommand, snippet } from './snippets.ts';

describe('sample code for a first event', () => {
  it.each(senders)('%s: contains the service URL, the key and the same event', (sender) => {
    const code = snippet(sender, 'https://events.example.com', 'phc_key');
    expect(code).toContain('https://events.example.com');
    expect(code).toContain('phc_key');
    expect(code).toContain('first event');
  });

  it('curl sends one batch', () => {
    const [, body = ''] = /-d '(.*)'$/.exec(snippet('curl', 'http://here', 'phc_key')) ?? [];
    expect(JSON.parse(body)).toMatchObject({
      api_key: 'phc_key',
      batch: [{ event: 'first event', distinct_id: 'me' }],
    });
  });

  it('the import command contains both keys', () => {
    expect(importCommand('http://here', 'phc_key')).toMatch(
      /--to http:\/\/here \\\n {2}--project-key phc_key \\\n {2}--api-key /,
    );
  });
});
