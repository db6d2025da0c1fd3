/** Takes a step of a world through kills, or without any. */
import { setTimeout as delay } from 'node:timers/promises';
import type { UndoClient, UndoRun } from '../../../test/support/undo-worlds.ts';
import type { KillablePart, ProofService } from '../one-machine/service.ts';
import type { Step } from './world.ts';

export interface Killer {
  /** So many are left. */
  left(): number;
  /** By stage and victim or failpoint. */
  readonly done: Map<string, number>;
  /** Failpoints that were not reached. */
  readonly missed: string[];
  /** Runs that failed because their process was killed too often at one place, and were resumed. */
  resumed: number;
}

export interface KillOptions {
  readonly service: ProofService;
  readonly client: UndoClient;
  readonly random: () => number;
  /** Of an undisturbed run. */
  readonly runMs: number;
  readonly say: (text: string) => void;
}

const victims: readonly KillablePart[] = ['service', 'service', 'imports', 'store'];
const failpointMsMax = 120_000;
const stepMsMax = 3 * 3_600_000;
/** How often a kill finds a service that is there again. */
const waitedFor = 0.75;

export function createKiller(kills: number): Killer {
  const done = new Map<string, number>();
  return {
    left: () => kills - [...done.values()].reduce((sum, times) => sum + times, 0),
    done,
    missed: [],
    resumed: 0,
  };
}

/** Returns when the step is done and the service is ready. At most `killsMax` kills hit it. */
export async function throughKills(step: Step, killsMax: number, killer: Killer, options: KillOptions): Promise<void> {
  const { service, random, say } = options;
  const path = await step.begin();
  const end = performance.now() + stepMsMax;
  const killing: Killing = { path, step, killer, options };
  const leftAtEnd = killer.left() - killsMax;
  // Each takes two kills and, in between, those of other processes.
  const failpoints = someOf(step.failpoints, Math.ceil(killsMax / 3), random);
  while (killer.left() > leftAtEnd && performance.now() < end) {
    if (random() < waitedFor) await service.untilReady();
    const run = await look(killing);
    if (run?.state === step.until) break;
    await killOnce(killing, run?.stage ?? 'starting', failpoints);
  }
  await service.untilReady();
  for (; performance.now() < end; await delay(200)) {
    if ((await look(killing))?.state !== step.until) continue;
    say(`${step.name}: ${step.until}; ${killer.left()} kills left`);
    return;
  }
  throw new Error(`expected the step ${step.name} to end within ${stepMsMax} ms`);
}

interface Killing {
  readonly path: string;
  readonly step: Step;
  readonly killer: Killer;
  readonly options: KillOptions;
}

/** In their order. */
function someOf(all: readonly string[], count: number, random: () => number): string[] {
  const some = [...all];
  while (some.length > count) some.splice(Math.floor(random() * some.length), 1);
  return some;
}

/** At a random moment, as often soon as late. A service that starts again after it dies once more, at the next failpoint. */
async function killOnce(killing: Killing, stage: string, failpoints: string[]): Promise<void> {
  const { killer, options, step } = killing;
  const { service, random, runMs } = options;
  const victim = victims[Math.floor(random() * victims.length)] ?? 'service';
  await delay(random() ** 2 * Math.max(500, runMs / 2));
  if (!(await service.kill(victim))) return;
  note(killer, `${stage} ${victim}`);
  if (victim !== 'service') return;
  const failAt = failpoints.shift();
  await service.start(false, failAt);
  if (failAt === undefined) return;
  for (const late = performance.now() + failpointMsMax; performance.now() < late; await delay(100)) {
    if (service.hasEnded() || (await look(killing))?.state === step.until) break;
  }
  if (service.hasEnded()) note(killer, failAt);
  else {
    killer.missed.push(`${step.name} ${failAt}`);
    await service.kill('service');
    note(killer, 'any service');
  }
  await service.start(false);
}

function note({ done }: Killer, what: string): void {
  done.set(what, (done.get(what) ?? 0) + 1);
}

/** Undefined: the service does not answer. A run that failed because of kills is resumed; whatever else failed it is thrown. */
async function look({ path, step, killer, options: { client, say } }: Killing): Promise<UndoRun | undefined> {
  const run = await client.get<UndoRun>(path).catch(() => undefined);
  if (run?.state !== 'failed') return run;
  if (!/process that worked on it/.test(run.reason))
    throw new Error(`${step.name} failed in ${run.stage}: ${run.reason}`);
  say(`${step.name}: resumed after ${run.reason.slice(0, 120)}`);
  killer.resumed += 1;
  await client.post(`${path}resume/`).catch(() => undefined);
  return undefined;
}
