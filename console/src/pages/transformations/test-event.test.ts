import { expect, it } from 'vitest';
import { firstEvent, readEvent, textOfEvent, unmarked } from './test-event.ts';

it('an event that was typed is read, or says what is wrong with it', () => {
  expect(readEvent(firstEvent)).toMatchObject({ event: { event: '$pageview' } });
  expect(readEvent('[1]')).toMatchObject({ problem: expect.stringContaining('Expected a JSON object') });
  expect(readEvent('{"event":')).toMatchObject({ problem: expect.stringContaining('Expected JSON') });
});

it('a stored or live event becomes what a client would send', () => {
  const text = textOfEvent({ id: 'u-1', event: 'visit', person: null, timestamp: null, properties: { a: 1 } });
  expect(JSON.parse(text)).toEqual({ uuid: 'u-1', event: 'visit', properties: { a: 1 } });
});

it('marks of what an event went through are no change', () => {
  const event = { event: 'visit', properties: { a: 1, $plugins_succeeded: ['x (1)'], $plugins_failed: [] } };
  expect(unmarked(event)).toEqual({ event: 'visit', properties: { a: 1 } });
});
