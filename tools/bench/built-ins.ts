import { deepEqual } from 'node:assert/strict';
import { withDefaults } from '../../src/plugins/check-settings.ts';
import type { SettingValues } from '../../src/plugins/fields.ts';
import type { JsonObject } from '../../src/base/json.ts';
import { builtInRegistry } from '../../src/plugins/built-in/registry.ts';
import { trialHost } from '../../src/plugins/trial-host.ts';
import { runChain, type ChainTally } from '../../src/pipeline/transform/run-chain.ts';
import { ChainEvent } from '../../src/pipeline/transform/chain-event.ts';
import type { DirectStep, Step } from '../../src/pipeline/transform/step.ts';
import { transformByHand } from './built-ins-by-hand.ts';
import { median } from './load.ts';
import { pageEvents, type PageEvent } from './page-events.ts';
import { pairRow } from './pairs.ts';

const windowEvents = 1000;

const chain: readonly (readonly [slug: string, settings: SettingValues])[] = [
  ['drop-events', { conditions: [{ property: '$host', value: ['localhost', 'staging.example.com'] }] }],
  ['taxonomy', { defaultNamingConvention: 'snake_case' }],
  ['rename', { properties: { 'Plan Name': 'plan' } }],
  ['url-parameters', { parameters: 'utm_source, utm_campaign', setAsInitialUserProperties: 'true' }],
  ['url-normalizer', {}],
  ['filter-properties', { properties: 'token, address.street' }],
  ['semver-flattener', { properties: '$app_version' }],
  ['timestamp-parts', {}],
  ['ip-removal', {}],
  ['remove-nulls', {}],
];

/** (f) Ten built-ins in a chain, against a loop written for just that; both from JSON text to JSON text. */
export async function benchBuiltIns(events: number, rounds: number): Promise<string> {
  const steps = chain.map(makeStep);
  const labels = steps.map(({ label }) => label);
  const source = pageEvents(events);
  const ways: readonly Way[] = [
    {
      name: 'JSON text to JSON text',
      ours: (some) => throughChain(steps, some, (event) => event.text),
      base: (some) => byHand(some, labels, (properties) => JSON.stringify(properties)),
    },
    {
      name: 'without writing JSON',
      ours: (some) => throughChain(steps, some, (event) => event.result().properties),
      base: (some) => byHand(some, labels, (properties) => properties),
    },
  ];
  await checkSame(ways[1] as Way, source);
  const bytes = Math.round(source.reduce((sum, { text }) => sum + text.length + 150, 0) / source.length);
  const rows = [
    `Ten built-ins, events of about ${bytes} bytes, ${windowEvents} at a time.`,
    '',
    '| path | events per CPU-s | by hand | ratio (min–max) | events/s | by hand |',
    '|---|---|---|---|---|---|',
  ];
  for (const way of ways) rows.push(await compare(way, source, rounds));
  return rows.join('\n');
}

interface Way {
  readonly name: string;
  readonly ours: (events: readonly PageEvent[]) => Promise<readonly unknown[]>;
  readonly base: (events: readonly PageEvent[]) => readonly unknown[];
}

function makeStep([slug, settings]: (typeof chain)[number], index: number): DirectStep {
  const plugin = builtInRegistry.get(slug);
  if (plugin?.kind !== 'transformation') throw new Error(`expected a transformation, got: ${slug}`);
  const host = trialHost(new Map(), { geoip: undefined, geoipProblem: '' });
  const transform = plugin.create(withDefaults(plugin.fields, settings), host);
  if (typeof transform !== 'function') throw new Error(`expected ${slug} to take one event at a time`);
  const configId = index + 1;
  return { kind: 'direct', configId, label: `${plugin.name} (${configId})`, transform, close: async () => {} };
}

/** Counts one number per step, as the pipeline does. */
function countingTally(): ChainTally {
  const counts = new Map<Step, number>();
  const count = (step: Step): void => void counts.set(step, (counts.get(step) ?? 0) + 1);
  const fail = (step: Step, error: unknown): void => {
    throw new Error(`expected ${step.label} to succeed`, { cause: error });
  };
  return { succeeded: count, dropped: count, skipped: count, failed: fail, took: () => {} };
}

async function throughChain(
  steps: readonly Step[],
  source: readonly PageEvent[],
  finish: (event: ChainEvent) => unknown,
): Promise<unknown[]> {
  const results: unknown[] = [];
  const tally = countingTally();
  for (let from = 0; from < source.length; from += windowEvents) {
    const events = source
      .slice(from, from + windowEvents)
      .map(
        (each) => new ChainEvent({ ...each, teamId: 1, receivedAt: 0 }, JSON.parse(each.text) as JsonObject, each.text),
      );
    await runChain(steps, events, tally);
    for (const event of events) results.push(event.droppedBy === undefined ? finish(event) : null);
  }
  return results;
}

function byHand(
  source: readonly PageEvent[],
  labels: readonly string[],
  finish: (properties: JsonObject) => unknown,
): unknown[] {
  const results: unknown[] = [];
  for (const { uuid, event: name, distinctId, timestamp, text } of source) {
    const properties = JSON.parse(text) as JsonObject;
    const event = { uuid, event: name, distinct_id: distinctId, team_id: 1, timestamp, properties };
    if (transformByHand(event) === null) {
      results.push(null);
      continue;
    }
    properties['$plugins_succeeded'] = [...labels];
    properties['$plugins_failed'] = [];
    results.push(finish(properties));
  }
  return results;
}

async function checkSame({ ours, base }: Way, source: readonly PageEvent[]): Promise<void> {
  const some = source.slice(0, 5000);
  deepEqual(await ours(some), base(some));
}

/** Alternates ours and the loop in one process; the first two rounds warm up. */
async function compare({ name, ours, base }: Way, source: readonly PageEvent[], rounds: number): Promise<string> {
  const oursRuns: Measured[] = [];
  const baseRuns: Measured[] = [];
  for (let round = -2; round < rounds; round++) {
    const first = await measure(ours, source);
    const second = await measure(base, source);
    if (round < 0) continue;
    oursRuns.push(first);
    baseRuns.push(second);
  }
  const ratios = oursRuns.map((run, index) => run.perCpuSecond / (baseRuns[index]?.perCpuSecond ?? Number.NaN));
  return pairRow(name, {
    oursPerCpuSecond: median(oursRuns.map((run) => run.perCpuSecond)),
    basePerCpuSecond: median(baseRuns.map((run) => run.perCpuSecond)),
    oursPerSecond: median(oursRuns.map((run) => run.perSecond)),
    basePerSecond: median(baseRuns.map((run) => run.perSecond)),
    cpuRatio: median(ratios),
    ratioMin: Math.min(...ratios),
    ratioMax: Math.max(...ratios),
  });
}

interface Measured {
  readonly perCpuSecond: number;
  readonly perSecond: number;
}

async function measure(
  run: (events: readonly PageEvent[]) => Promise<readonly unknown[]> | readonly unknown[],
  source: readonly PageEvent[],
): Promise<Measured> {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  await run(source);
  const { user, system } = process.cpuUsage(before);
  const seconds = (performance.now() - startedAt) / 1000;
  return { perCpuSecond: source.length / ((user + system) / 1e6), perSecond: source.length / seconds };
}
