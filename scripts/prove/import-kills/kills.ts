/** Takes a step of a world through kills, or without any. */
import { setTimeout as delay } from 'node:timers/promises';
import type { UndoClient, UndoRun } from '../../../test/support/undo-worlds.ts';
import type { KillablePart, ProofService } from '../one-machine/service.ts';
import type { Step } from './world.ts';

/** When the next kill comes: at a failpoint, or so many ms from now. */
type Kill = { readonly failAt: string } | { readonly victim: KillablePart; readonly afterMs: number };

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

const victims: readonly KillablePart[] = ['service', 'imports', 'store', 'service', 'imports'];
const failpointMsMax = 120_000;
const stepMsMax = 3 * 3_600_000;

export function createKiller(kills: number): Killer {
  const done = new Map<string, number>();
  return {
    left: () => kills - [...done.values()].reduce((sum, times) => sum + times, 0),
    done,
    missed: [],
    resumed: 0,
  };
}

/** The step is done and the service ready when it returns. */
export async function throughKills(step: Step, killer: Killer, options: KillOptions): Promise<void> {
  const { service, say } = options;
  const path = await step.begin();
  const end = performance.now() + stepMsMax;
  for (const kill of killsOf(step, options)) {
    if (performance.now() > end) throw new Error(`expected the step ${step.name} to end within ${stepMsMax} ms`);
    const run = await look(path, step, killer, options);
    if (run?.state === step.until || killer.left() <= 0) break;
    if ('failAt' in kill) await killAt(kill.failAt, { path, step, killer, options });
    else await killAfter(kill, run?.stage ?? 'starting', killer, service);
  }
  if (service.hasEnded()) await service.start(true);
  await service.untilReady();
  for (; performance.now() < end; await delay(200)) {
    const run = await look(path, step, killer, options);
    if (run?.state !== step.until) continue;
    say(`${step.name}: ${step.until}; ${killer.left()} kills left`);
    return;
  }
  throw new Error(`expected the step ${step.name} to end within ${stepMsMax} ms`);
}

/** Failpoints in the order of the stages, a random kill between each two, and random ones without end. */
function* killsOf({ failpoints }: Step, { random, runMs }: KillOptions): Generator<Kill> {
  const some = (): Kill => ({
    victim: victims[Math.floor(random() * victims.length)] ?? 'service',
    // As often soon as late.
    afterMs: random() ** 2 * Math.max(500, runMs),
  });
  for (const failAt of failpoints) {
    yield { failAt };
    yield some();
  }
  for (;;) yield some();
}

async function killAfter(
  { victim, afterMs }: { readonly victim: KillablePart; readonly afterMs: number },
  stage: string,
  killer: Killer,
  service: ProofService,
): Promise<void> {
  await delay(afterMs);
  if (!(await service.kill(victim))) return;
  note(killer, `${stage} ${victim}`);
  if (victim === 'service') await service.start(false);
}

interface KillingAt {
  readonly path: string;
  readonly step: Step;
  readonly killer: Killer;
  readonly options: KillOptions;
}

/** The service is killed and begins again with the failpoint. */
async function killAt(failAt: string, { path, step, killer, options }: KillingAt): Promise<void> {
  const { service } = options;
  await service.kill('service');
  note(killer, 'any service');
  await service.start(false, failAt);
  for (const late = performance.now() + failpointMsMax; performance.now() < late; await delay(100)) {
    if (service.hasEnded()) {
      note(killer, failAt);
      return service.start(false);
    }
    if ((await look(path, step, killer, options))?.state === step.until) break;
  }
  killer.missed.push(failAt);
}

function note({ done }: Killer, what: string): void {
  done.set(what, (done.get(what) ?? 0) + 1);
}

/** Undefined: the service does not answer. A run that failed because of kills is resumed; whatever else failed it is thrown. */
async function look(
  path: string,
  step: Step,
  killer: Killer,
  { client, say }: KillOptions,
): Promise<UndoRun | undefined> {
  const run = await client.get<UndoRun>(path).catch(() => undefined);
  if (run?.state !== 'failed') return run;
  if (!/process that worked on it/.test(run.reason))
    throw new Error(`${step.name} failed in ${run.stage}: ${run.reason}`);
  say(`${step.name}: resumed after ${run.reason.slice(0, 120)}`);
  killer.resumed += 1;
  await client.post(`${path}resume/`).catch(() => undefined);
  return undefined;
}
