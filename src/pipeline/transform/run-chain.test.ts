import { describe, expect, it } from 'vitest';
import type { TransformEvent, Transformation } from '../../plugins/plugin.ts';
import type { JsonObject } from '../../base/json.ts';
import { SandboxError } from '../../plugins/sandbox/sandbox.ts';
import { ChainEvent } from './chain-event.ts';
import { runChain, type ChainTally } from './run-chain.ts';
import type { BatchStep, Step, StepOutcome } from './step.ts';

const id = '01900000-0000-7000-8000-000000000000';
const head = { uuid: id, event: 'seen', distinctId: 'p', timestamp: '2026-01-01T00:00:00.000000Z' };

function chainEvent(
  properties: JsonObject = { list: [1] },
  text: string | null = JSON.stringify(properties),
): ChainEvent {
  return new ChainEvent({ ...head, teamId: 1, receivedAt: 0 }, structuredClone(properties), text);
}

const close = async (): Promise<void> => {};
let made = 0;
const direct = (transform: Transformation): Step => {
  const configId = made++;
  return { kind: 'direct', configId, label: `T${configId}`, transform, close };
};
const batch = (run: BatchStep['run']): Step => {
  const configId = made++;
  return { kind: 'batch', configId, label: `T${configId}`, run, close };
};
/** Creates a step like those in the sandbox: it takes and returns text, and adds its label to the markers. */
const sandboxed = (change: (properties: JsonObject) => void): Step => {
  const step = batch(async (events) =>
    events.map((event): StepOutcome => {
      const { propertiesText, markers } = event.forSandbox();
      const properties = JSON.parse(propertiesText) as JsonObject;
      change(properties);
      properties['$plugins_succeeded'] = [...(markers?.succeeded ?? []), step.label];
      properties['$plugins_failed'] = [...(markers?.failed ?? [])];
      return { kind: 'changed', ...head, propertiesText: JSON.stringify(properties), movedTeam: false };
    }),
  );
  return step;
};
const answering = (outcome: StepOutcome): Step => batch(async (events) => events.map(() => outcome));
const add = (key: string) => (properties: JsonObject) => void (properties[key] = Object.keys(properties).length);
const adding = (key: string): Step =>
  direct((event) => {
    add(key)(event.properties);
    return event;
  });

async function run(steps: readonly Step[], event = chainEvent()) {
  const log: string[] = [];
  const note = (what: string) => (step: Step, error?: unknown) =>
    void log.push(`${what} ${step.label}${error instanceof Error ? `: ${error.message}` : ''}`);
  const tally: ChainTally = {
    succeeded: note('ok'),
    failed: note('failed'),
    dropped: note('dropped'),
    skipped: note('skipped'),
    took: () => {},
  };
  await runChain(steps, [event], tally);
  const { properties, text } = event.result();
  expect(JSON.parse(text ?? JSON.stringify(properties))).toEqual(properties);
  return { log, event, properties };
}

const labels = (...steps: readonly (Step | undefined)[]) => steps.map((step) => step?.label);

describe('a chain of transformations', () => {
  it.each<[string, (key: string) => Step]>([
    ['built in', adding],
    ['sandboxed', (key) => sandboxed(add(key))],
  ])('each step runs on the result of the previous one, and the event lists it: %s', async (_name, make) => {
    const steps = [make('a'), make('b')];
    const { properties, log } = await run(steps);
    expect(Object.keys(properties).filter((key) => !key.startsWith('$'))).toEqual(['list', 'a', 'b']);
    expect(properties).toMatchObject({ $plugins_succeeded: labels(...steps), $plugins_failed: [] });
    expect(log).toEqual(steps.map(({ label }) => `ok ${label}`));
  });

  it.each<[string, (key: string) => Step]>([
    ['built in', adding],
    ['sandboxed', (key) => sandboxed(add(key))],
  ])(
    'an event that the filter of a step excludes passes it unchanged and counts as skipped: %s',
    async (_name, make) => {
      const isPlain = (event: ChainEvent): boolean => event.result().properties['a'] === undefined;
      const [first, second, third] = [make('a'), { ...make('b'), accepts: isPlain }, make('c')];
      const { properties, log } = await run([first, second, third]);
      expect(Object.keys(properties).filter((key) => !key.startsWith('$'))).toEqual(['list', 'a', 'c']);
      expect(properties).toMatchObject({ $plugins_succeeded: labels(first, third), $plugins_failed: [] });
      expect(log).toEqual([`ok ${first.label}`, `skipped ${second.label}`, `ok ${third.label}`]);
    },
  );

  it('a failure behind a step whose filter excludes the event does not run that step', async () => {
    const failing = direct((event) => {
      event.properties['half'] = true;
      throw new Error('no');
    });
    const steps = [adding('a'), { ...adding('b'), accepts: () => false }, failing];
    const { properties } = await run(steps);
    expect(Object.keys(properties).filter((key) => !key.startsWith('$'))).toEqual(['list', 'a']);
  });

  it('steps of both kinds see one event and its markers, whichever runs first', async () => {
    const seen: unknown[] = [];
    const look = (properties: JsonObject) => void seen.push(structuredClone(properties['$plugins_succeeded']));
    const looking = direct((event) => {
      look(event.properties);
      return event;
    });
    const steps = [sandboxed(add('a')), looking, adding('b'), sandboxed(add('c')), answering({ kind: 'unchanged' })];
    const { properties } = await run(steps);
    expect(properties).toMatchObject({ a: 1, list: [1], $plugins_succeeded: labels(...steps) });
    expect(Object.keys(properties)).toContain('c');
    expect(seen).toEqual([labels(steps[0])]);
  });

  it('null drops the event, and nothing runs after it', async () => {
    const steps = [adding('a'), direct(() => null), adding('b')];
    const { event, log } = await run(steps);
    expect(event.droppedBy).toBe(steps[1]);
    expect(log).toEqual([`ok ${steps[0]?.label}`, `dropped ${steps[1]?.label}`]);
    const both = [answering({ kind: 'dropped' }), adding('b')];
    expect((await run(both)).event.droppedBy).toBe(both[0]);
  });

  it('a step that throws leaves no partial edits, and the others still run', async () => {
    const thrower = direct((each) => {
      each.event = 'changed';
      each.properties['half'] = true;
      (each.properties['list'] as number[]).push(2);
      throw new Error('no');
    });
    const steps = [adding('a'), thrower, adding('b')];
    const { event, properties, log } = await run(steps);
    expect(event.head.event).toBe('seen');
    expect(Object.keys(properties)).not.toContain('half');
    expect(properties).toMatchObject({
      list: [1],
      $plugins_succeeded: labels(steps[0], steps[2]),
      $plugins_failed: labels(thrower),
    });
    expect(log).toEqual([`ok ${steps[0]?.label}`, `failed ${thrower.label}: no`, `ok ${steps[2]?.label}`]);
  });

  it('an event that fails in a batch is restored, including partial edits of the object', async () => {
    const failing = batch(async (events) =>
      events.map((event) => {
        event.object.properties['half'] = true;
        return { kind: 'failed', error: new SandboxError('thrown', 'no', { method: 'processEvent' }) };
      }),
    );
    const steps = [adding('a'), failing, adding('b')];
    const { properties } = await run(steps);
    expect(Object.keys(properties)).not.toContain('half');
    expect(properties).toMatchObject({
      $plugins_succeeded: labels(steps[0], steps[2]),
      $plugins_failed: labels(failing),
    });
  });

  it('a skipped step adds no label', async () => {
    const { properties, log } = await run([answering({ kind: 'skipped' })]);
    expect(properties).toEqual({ list: [1] });
    expect(log).toHaveLength(1);
  });

  it('team_id is restored and the other edits stay, but a sandboxed step counts as failed', async () => {
    const moving = direct((each) => ({ ...each, team_id: 99, event: 'renamed' }));
    expect((await run([moving])).event.head).toMatchObject({ event: 'renamed', uuid: id });
    const text = JSON.stringify({ moved: true });
    const mover = answering({ kind: 'changed', ...head, event: 'renamed', propertiesText: text, movedTeam: true });
    const { event, properties } = await run([mover]);
    expect(event.head.event).toBe('renamed');
    expect(properties).toEqual({ moved: true, $plugins_succeeded: [], $plugins_failed: [mover.label] });
  });

  it('a transformation can change the uuid', async () => {
    const other = id.replaceAll('0', 'a');
    expect((await run([direct((each) => ({ ...each, uuid: other }))])).event.head.uuid).toBe(other);
  });

  const whole = (): TransformEvent => ({
    uuid: id,
    team_id: 1,
    event: 'e',
    distinct_id: 'p',
    timestamp: head.timestamp,
    properties: {},
  });
  it.each<[string, unknown]>([
    ['properties that are not an object', { ...whole(), properties: [] }],
    ['no properties', { ...whole(), properties: undefined }],
    ['an empty name', { ...whole(), event: '' }],
    ['a number as distinct_id', { ...whole(), distinct_id: 7 }],
    ['an invalid time', { ...whole(), timestamp: 'soon' }],
    ['an invalid uuid', { ...whole(), uuid: 'x' }],
    ['a text', 'event'],
  ])('%s is a failure', async (_name, result) => {
    const step = direct(() => result as TransformEvent);
    const { properties, log } = await run([step]);
    expect(log[0]).toMatch(/^failed T\d+: expected the transformation to return/);
    expect(properties).toEqual({ list: [1], $plugins_succeeded: [], $plugins_failed: [step.label] });
  });

  it('a batch that returns too few results fails for the other events', async () => {
    const { log } = await run([batch(async () => [])]);
    expect(log[0]).toContain('expected a result per event');
  });

  it('labels are appended to those that the event has already', async () => {
    const step = adding('a');
    const { properties } = await run([step], chainEvent({ $plugins_succeeded: ['GeoIP (4)'], $plugins_failed: 'x' }));
    expect(properties).toMatchObject({ $plugins_succeeded: ['GeoIP (4)', step.label], $plugins_failed: [] });
  });

  it('text and object are equal if the event was created without its text', async () => {
    const { properties } = await run([sandboxed(add('a')), adding('b')], chainEvent({ list: [1] }, null));
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(['list', 'a', 'b']));
  });
});
