/** What is sent to a cluster whose costs are measured: events of several projects, one in each slot. */
import { slotOf } from '../../../src/log/slot-of.ts';
import { bodies } from '../../bench/events.ts';
import { load } from '../../bench/load.ts';
import { scalingKeys, type ScalingProcess } from './cluster.ts';

export interface LoadShape {
  readonly name: string;
  /** Of all projects together. */
  readonly requests: number;
  readonly eventsPerRequest: number;
  /** Every event sets properties of its person. */
  readonly sets?: boolean;
  /** Requests per second while pipelines work; absent: they are suspended until everything is in the log. */
  readonly requestsPerSecond?: number;
}

/** Of each project. */
export const people = 2000;
const connections = 8;
const projectsMax = 2000;

export interface ScalingProject {
  readonly id: number;
  readonly key: string;
}

/** New ones until there is one for each slot, so that every slot has the same to do. */
export async function makeProjects(api: ScalingProcess, slots: number): Promise<ScalingProject[]> {
  const bySlot = new Map<number, ScalingProject>();
  for (let made = 0; bySlot.size < slots; made += 1) {
    if (made === projectsMax) throw new Error(`expected a project for each slot among ${made}, got ${bySlot.size}`);
    const answer = await fetch(`${api.url}/api/projects/`, {
      method: 'POST',
      headers: { authorization: `Bearer ${scalingKeys.personal}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'scaling' }),
    });
    if (!answer.ok) throw new Error(`expected a project, got: ${answer.status} ${await answer.text()}`);
    const { id, api_token: key } = (await answer.json()) as { id: number; api_token: string };
    bySlot.set(slotOf(id, slots), { id, key });
  }
  return [...bySlot.values()];
}

/** Events that were never sent before; the projects take turns. */
export function bodiesOf(projects: readonly ScalingProject[], shape: LoadShape, seed: number): Buffer[] {
  const { requests, eventsPerRequest: events, sets = false } = shape;
  const each = Math.ceil(requests / projects.length);
  const own = projects.map(({ key }, index) =>
    bodies(key, each, { events, people, months: 1, historical: false, sets }, seed * projects.length + index),
  );
  const turns = Array.from({ length: each }, (_, turn) => own.map((list) => list[turn]));
  return turns
    .flat()
    .filter((body) => body !== undefined)
    .slice(0, requests);
}

/** Resolves when all of them are in the log. */
export async function send(capture: ScalingProcess, all: readonly Buffer[], shape: LoadShape): Promise<void> {
  const { requestsPerSecond } = shape;
  await load({
    url: `${capture.url}/batch/`,
    bodies: all,
    connections,
    headers: { 'content-encoding': 'gzip' },
    ...(requestsPerSecond !== undefined && { requestsPerSecond }),
  });
}
