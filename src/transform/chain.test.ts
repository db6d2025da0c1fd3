import { describe, expect, it } from 'vitest';
import type { TransformEvent, Transformation } from '../plugins/plugin.ts';
import { runChain, type ChainStep } from './chain.ts';

const source = (): TransformEvent => ({
  uuid: 'u',
  event: 'seen',
  distinct_id: 'p',
  team_id: 1,
  timestamp: '2026-01-01T00:00:00.000000Z',
  properties: { list: [1] },
});

function run(transforms: readonly Transformation[], from: () => TransformEvent = source) {
  const log: string[] = [];
  const steps: ChainStep[] = transforms.map((transform, i) => ({ configId: i, label: `T${i} (${i})`, transform }));
  const note = (what: string) => (step: ChainStep, error?: unknown) => {
    log.push(`${what} ${step.configId}${error instanceof Error ? `: ${error.message}` : ''}`);
  };
  const result = runChain(steps, from, { succeeded: note('ok'), failed: note('failed'), dropped: note('dropped') });
  return { log, result, event: result.kind === 'kept' ? result.event : undefined };
}

const add =
  (key: string): Transformation =>
  (event) => ({ ...event, properties: { ...event.properties, [key]: Object.keys(event.properties).length } });

describe('a chain of transformations', () => {
  it('each runs on the result of the one before, and the event says so', () => {
    const { event, log } = run([add('a'), add('b')]);
    expect(event?.properties).toEqual({
      list: [1],
      a: 1,
      b: 2,
      $plugins_succeeded: ['T0 (0)', 'T1 (1)'],
      $plugins_failed: [],
    });
    expect(log).toEqual(['ok 0', 'ok 1']);
  });

  it('null drops the event, and nothing runs after it', () => {
    const { result, log } = run([add('a'), () => null, add('b')]);
    expect(result).toMatchObject({ kind: 'dropped', step: { configId: 1 } });
    expect(log).toEqual(['ok 0', 'dropped 1']);
  });

  it('one that throws leaves nothing of its edits behind; the others still run', () => {
    const { event, log } = run([
      add('a'),
      (each) => {
        each.event = 'changed';
        each.properties['half'] = true;
        (each.properties['list'] as number[]).push(2);
        throw new Error('no');
      },
      add('b'),
    ]);
    expect(event).toMatchObject({ event: 'seen' });
    expect(event?.properties).toEqual({
      list: [1],
      a: 1,
      b: 2,
      $plugins_succeeded: ['T0 (0)', 'T2 (2)'],
      $plugins_failed: ['T1 (1)'],
    });
    expect(log).toEqual(['ok 0', 'failed 1: no', 'ok 2']);
  });

  it('uuid and team_id stay whatever a transformation makes of them, its other edits count', () => {
    const { event } = run([(each) => ({ ...each, uuid: 'other', team_id: 99, event: 'renamed' })]);
    expect(event).toMatchObject({ uuid: 'u', team_id: 1, event: 'renamed' });
  });

  it.each<[string, unknown]>([
    ['properties that are no object', { ...source(), properties: [] }],
    ['no properties', { ...source(), properties: undefined }],
    ['an empty name', { ...source(), event: '' }],
    ['a number as distinct_id', { ...source(), distinct_id: 7 }],
    ['a time that is none', { ...source(), timestamp: 'soon' }],
    ['a text', 'event'],
  ])('%s is a failure', (_name, result) => {
    const { event, log } = run([() => result as TransformEvent]);
    expect(log[0]).toMatch(/^failed 0: expected the transformation to return/);
    expect(event?.properties).toEqual({ list: [1], $plugins_succeeded: [], $plugins_failed: ['T0 (0)'] });
  });

  it('labels come after those that the event brings', () => {
    const from = (): TransformEvent => ({
      ...source(),
      properties: { $plugins_succeeded: ['GeoIP (4)'], $plugins_failed: 'x' },
    });
    expect(run([add('a')], from).event?.properties).toMatchObject({
      $plugins_succeeded: ['GeoIP (4)', 'T0 (0)'],
      $plugins_failed: [],
    });
  });
});
