import { expect, it } from 'vitest';
import { exampleEvent, readEvent, textOfEvent, unmarked } from './test-event.ts';

it('a typed event is parsed, or rejected with a reason', () => {
  expect(readEvent(exampleEvent)).toMatchObject({ event: { event: '$pageview' } });
  expect(readEvent('[1]')).toMatchObject({ problem: expect.stringContaining('Expected a JSON object') });
  expect(readEvent('{"event":')).toMatchObject({ problem: expect.stringContaining('Expected JSON') });
});

it('a stored or live event is converted to what a client sends', () => {
  const text = textOfEvent({ id: 'u-1', event: 'visit', person: null, timestamp: null, properties: { a: 1 } });
  expect(JSON.parse(text)).toEqual({ uuid: 'u-1', event: 'visit', properties: { a: 1 } });
});

it('properties that record transformations do not count as changes', () => {
  const event = { event: 'visit', properties: { a: 1, $plugins_succeeded: ['x (1)'], $plugins_failed: [] } };
  expect(unmarked(event)).toEqual({ event: 'visit', properties: { a: 1 } });
});
