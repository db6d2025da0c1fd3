/** CPU time of every component of a cluster while it accepts and stores a number of events. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Metadata } from '../../../src/stores/metadata/database.ts';
import { readCursors } from '../../../src/pipeline/cursors.ts';
import { cpuSecondsOfTree, residentBytesOfTree } from '../../bench/process.ts';
import { untilIdle } from '../../bench/server.ts';
import type { ScalingCluster, ScalingProcess } from './cluster.ts';
import { bodiesOf, send, type LoadShape, type ScalingProject } from './load.ts';

export const parts = ['capture', 'pipelines', 'kafka', 'postgres', 'store'] as const;
export type Part = (typeof parts)[number];
export type CpuOfParts = Readonly<Record<Part, number>>;

/** A cluster with a number of pipelines that run warm. */
export interface Scene {
  readonly cluster: ScalingCluster;
  readonly db: Metadata;
  readonly capture: ScalingProcess;
  readonly pipelines: readonly ScalingProcess[];
  readonly projects: readonly ScalingProject[];
  /** CPU seconds a second while nothing is sent. */
  readonly idle: CpuOfParts;
}

export interface Measure {
  readonly shape: string;
  readonly pipelines: number;
  readonly events: number;
  readonly windows: number;
  /** From when pipelines begin to when all is stored and the store has merged it. */
  readonly seconds: number;
  /** CPU seconds, without what the parts take while they are idle. */
  readonly cpu: CpuOfParts;
  /** Of all pipelines, with what they take while they are idle. */
  readonly pipelinesCpu: number;
  /** Leases that expired while the processes were suspended. */
  readonly slotsLost: number;
  /** Bytes of requests in the log. */
  readonly logBytes: number;
  /** Largest process of its kind, bytes. */
  readonly resident: { readonly capture: number; readonly pipeline: number };
}

export interface Idle {
  readonly pipelines: number;
  /** CPU seconds a second. */
  readonly idle: CpuOfParts;
}

const pollMs = 100;
const drainMs = 300_000;
const triesMax = 2;
const idleSeconds = 8;

/**
 * Measures, and repeats if a process lost slots while it was suspended, because the machine was busy: it then has to read its cached
 * state again. The last attempt counts anyway, which the result reports.
 */
export async function measure(scene: Scene, shape: LoadShape, nextSeed: () => number): Promise<Measure> {
  for (let tries = 1; ; tries += 1) {
    const before = await counted(scene.pipelines);
    const found = await measureOnce(scene, shape, bodiesOf(scene.projects, shape, nextSeed()));
    const after = await counted(scene.pipelines);
    const slotsLost = after.slotsLost - before.slotsLost;
    if (slotsLost === 0 || tries === triesMax) return { ...found, slotsLost };
  }
}

/** Once, whatever happens to the slots meanwhile. */
export async function measureOnce(
  scene: Scene,
  shape: LoadShape,
  bodies: readonly Buffer[],
): Promise<Omit<Measure, 'slotsLost'>> {
  const { pipelines, capture } = scene;
  const events = bodies.length * shape.eventsPerRequest;
  const before = await counted(pipelines);
  const storedBefore = await storedRequests(scene.db);
  const atFirst = cpuOf(scene);
  const startedAt = performance.now();
  const isBacklog = shape.requestsPerSecond === undefined;
  if (isBacklog) for (const each of pipelines) each.pause();
  try {
    await send(capture, bodies, shape);
  } finally {
    if (isBacklog) for (const each of pipelines) each.resume();
  }
  const sentAt = performance.now();
  await untilStored(scene.db, storedBefore + bodies.length);
  const resident = Math.max(...pipelines.map(({ pid }) => residentBytesOfTree(pid)));
  // What it merges belongs to the events.
  await untilIdle(scene.cluster.pids.store);
  const atLast = cpuOf(scene);
  const wall = (performance.now() - startedAt) / 1000;
  const after = await counted(pipelines);
  if (after.events - before.events !== events)
    throw new Error(`expected ${events} events to be stored, got: ${after.events - before.events}`);
  const paused = isBacklog ? (sentAt - startedAt) / 1000 : 0;
  const took = (part: Part, idleFor: number): number =>
    Math.max(0, atLast[part] - atFirst[part] - idleFor * scene.idle[part]);
  return {
    shape: shape.name,
    pipelines: pipelines.length,
    events,
    windows: after.windows - before.windows,
    seconds: wall - paused,
    cpu: {
      capture: took('capture', wall),
      pipelines: took('pipelines', wall - paused),
      kafka: took('kafka', wall),
      postgres: took('postgres', wall),
      store: took('store', wall),
    },
    pipelinesCpu: atLast.pipelines - atFirst.pipelines,
    logBytes: after.logBytes - before.logBytes,
    resident: { capture: residentBytesOfTree(capture.pid), pipeline: resident },
  };
}

function cpuOf({ cluster: { pids }, capture, pipelines }: Omit<Scene, 'idle' | 'projects' | 'db'>): CpuOfParts {
  return {
    capture: cpuSecondsOfTree(capture.pid),
    pipelines: pipelines.reduce((sum, { pid }) => sum + cpuSecondsOfTree(pid), 0),
    kafka: cpuSecondsOfTree(pids.kafka),
    postgres: cpuSecondsOfTree(pids.postgres),
    store: cpuSecondsOfTree(pids.store),
  };
}

/** CPU seconds a second of every part while nothing is sent. */
export async function measureIdle(scene: Omit<Scene, 'idle' | 'projects' | 'db'>): Promise<CpuOfParts> {
  await untilIdle(scene.cluster.pids.store);
  const before = cpuOf(scene);
  const startedAt = performance.now();
  await sleep(idleSeconds * 1000);
  const after = cpuOf(scene);
  const seconds = (performance.now() - startedAt) / 1000;
  const rate = (part: Part): number => (after[part] - before[part]) / seconds;
  return {
    capture: rate('capture'),
    pipelines: rate('pipelines'),
    kafka: rate('kafka'),
    postgres: rate('postgres'),
    store: rate('store'),
  };
}

interface Counted {
  readonly events: number;
  readonly windows: number;
  readonly logBytes: number;
  readonly slotsHeld: number;
  readonly slotsLost: number;
}

/** Of all pipelines together, since they started. */
export async function counted(pipelines: readonly ScalingProcess[]): Promise<Counted> {
  const texts = await Promise.all(pipelines.map(async ({ url }) => await (await fetch(`${url}/metrics`)).text()));
  const all = texts.join('\n');
  const sum = (pattern: RegExp): number =>
    [...all.matchAll(pattern)].reduce((total, [, value]) => total + Number(value), 0);
  return {
    events: sum(/^millrace_component_received_events_total\{component="pipeline"[^}]*\} (\S+)$/gm),
    windows: sum(/^millrace_store_insert_seconds_count(?:\{[^}]*\})? (\S+)$/gm),
    logBytes: sum(/^millrace_log_read_bytes_total\{[^}]*\} (\S+)$/gm),
    slotsHeld: sum(/^millrace_slots_held(?:\{[^}]*\})? (\S+)$/gm),
    slotsLost: sum(/^millrace_slots_lost_total(?:\{[^}]*\})? (\S+)$/gm),
  };
}

/** Asks the database: answers of the pipelines themselves would cost what is measured. */
async function untilStored(db: Metadata, requests: number): Promise<void> {
  for (const end = Date.now() + drainMs; ; await sleep(pollMs)) {
    const stored = await storedRequests(db);
    if (stored === requests) return;
    if (stored > requests || Date.now() > end)
      throw new Error(`expected ${requests} requests to be stored within ${drainMs / 1000} s, got: ${stored}`);
  }
}

/** Each is a record of the log. */
async function storedRequests(db: Metadata): Promise<number> {
  const { live } = await readCursors(db);
  return [...live.values()].reduce((sum, seq) => sum + seq, 0);
}
