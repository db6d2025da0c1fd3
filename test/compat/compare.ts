import type { TransformationPlugin, TransformEvent } from '../../src/plugins/plugin.ts';
import type { JsonObject } from '../../src/base/json.ts';
import type { TransformationHost } from '../../src/plugins/host.ts';
import type { SettingValues } from '../../src/plugins/fields.ts';
import { withDefaults } from '../../src/plugins/check-settings.ts';
import { testHost } from '../support/transformation-host.ts';
import type { Outcome, PublishedMeta } from './published-plugin.ts';
import { startPublished } from './published-plugin.ts';

/** The same work for both: settings in the words of each, and events in order. */
export interface Job {
  readonly settings: SettingValues;
  readonly meta: PublishedMeta;
  readonly host?: Partial<TransformationHost>;
  readonly events: readonly TransformEvent[];
}

export interface Pair {
  readonly before: TransformEvent;
  readonly published: Outcome;
  readonly ours: Outcome;
}

export async function runBoth(plugin: TransformationPlugin, path: string, job: Job): Promise<Pair[]> {
  const published = await startPublished(path, job.meta);
  const ours = await runOurs(plugin, job);
  const pairs: Pair[] = [];
  for (const [index, before] of job.events.entries()) {
    const outcome = ours[index];
    if (outcome === undefined) throw new Error(`${plugin.slug} returned too few results`);
    pairs.push({ before, published: await published(before), ours: outcome });
  }
  return pairs;
}

async function runOurs(plugin: TransformationPlugin, { settings, host, events }: Job): Promise<Outcome[]> {
  const run = plugin.create(withDefaults(plugin.fields, settings), testHost(host));
  const copies = events.map((event) => structuredClone(event));
  if (typeof run !== 'function') return (await run.batch(copies)).map(outcomeOf);
  return copies.map((copy) => {
    try {
      return outcomeOf(run(copy));
    } catch (error) {
      return { kind: 'failed', message: String(error) };
    }
  });
}

function outcomeOf(result: TransformEvent | null | Error): Outcome {
  if (result === null) return { kind: 'dropped' };
  if (result instanceof Error) return { kind: 'failed', message: result.message };
  const properties = JSON.parse(JSON.stringify(result.properties)) as JsonObject;
  return {
    kind: 'kept',
    event: { uuid: result.uuid, event: result.event, distinct_id: result.distinct_id, properties },
  };
}
