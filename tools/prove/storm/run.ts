/** A storm: a service under load whose processes are killed, and the account of what it has stored. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDraw, type Draw } from '../../../test/support/draw.ts';
import { daysOf, makeEvent } from './events.ts';
import { startImporter, type Importer } from './importer.ts';
import { differencesOfLines, StormLedger } from './ledger.ts';
import { allEvents, allPersons, eventsOfDays, keptCounts } from './look.ts';
import { personLine } from './persons.ts';
import { startSenders, type Senders } from './senders.ts';
import { installTransformation } from '../one-machine/install-transformation.ts';
import { createService, type ProofPart, type ProofService } from '../one-machine/service.ts';
import { untilStored, usage } from '../one-machine/totals.ts';

export type Victim = ProofPart | 'importer';

export interface Storm extends AsyncDisposable {
  readonly service: ProofService;
  readonly ledger: StormLedger;
  /**
   * Kills a process with SIGKILL at a random moment, and starts what does not restart automatically. `wanted`: the victim, as soon as
   * it exists; by default a random one, or the service if that one does not exist. Returns the victim.
   */
  round(wanted?: Victim): Promise<Victim>;
  /** Pauses load and kills while it compares what was stored since the last time. Returns the differences. */
  check(): Promise<string[]>;
  /** Does the same for everything since the beginning. */
  checkAll(): Promise<string[]>;
}

const senders = 4;
const batchEventsMax = 40;
const importEvents = 300;
const momentMs = { min: 100, max: 1200 } as const;
/** Until what is to be killed is there. */
const appearMs = 60_000;
const restMs = { min: 50, max: 500 } as const;
/** In a hundred. */
const frequencies: readonly (readonly [Victim, number])[] = [
  ['service', 30],
  ['store', 25],
  ['plugins', 25],
  ['importer', 20],
];
/** Counts, of every batch, the events that it sees, in its storage, and marks them. */
const counting = `
  export async function processEventBatch(events, { storage }) {
    const kept = {};
    for (const { properties } of events) {
      properties.marked = true;
      if (properties.batch === undefined) continue;
      const key = 'epoch ' + properties.epoch;
      kept[key] ??= await storage.get(key, {});
      kept[key][properties.batch] = (kept[key][properties.batch] ?? 0) + 1;
    }
    for (const [key, counts] of Object.entries(kept)) await storage.set(key, counts);
    return events;
  }`;

/** `dir` is its own. */
export async function openStorm({ dir, seed }: { readonly dir: string; readonly seed: number }): Promise<Storm> {
  const chance = createDraw(seed);
  const ledger = new StormLedger();
  const service = await createService(join(dir, 'data'));
  const load = createLoad({ service, ledger, seed, dir: join(dir, 'imports') });
  await service.start(true);
  await installTransformation(service, counting);
  await load.start();
  return {
    service,
    ledger,
    round: (wanted) => kill({ service, importer: () => load.importer(), chance }, wanted),
    check: async () => {
      const epoch = await load.stop();
      await service.untilReady();
      const ids = ledger.epochIds;
      const stored = [
        ...(await differencesOfCounts(service, ledger)),
        ...ledger.differencesOfEvents(ids, (await eventsOfDays(service, daysOf(epoch))).filter(isOf(epoch))),
        ...ledger.differencesOfCounts(keptCounts(service, `epoch ${epoch}`)),
      ];
      ledger.endEpoch();
      await load.start();
      return stored;
    },
    checkAll: async () => {
      await load.stop();
      await service.untilReady();
      const persons = (await allPersons(service)).map(personLine);
      return [
        ...(await differencesOfCounts(service, ledger)),
        ...ledger.differencesOfEvents(ledger.acknowledged.keys(), await allEvents(service)),
        ...differencesOfLines('person', ledger.persons.lines(), persons),
      ];
    },
    [Symbol.asyncDispose]: () => service.stop(),
  };
}

/** Events of earlier epochs may lie on the same days once there were very many. */
function isOf(epoch: number) {
  return ({ properties }: { readonly properties: Readonly<Record<string, unknown>> }) => properties['epoch'] === epoch;
}

/** Waits for current work. */
async function differencesOfCounts(service: ProofService, ledger: StormLedger): Promise<string[]> {
  const expected = JSON.stringify({ standard: ledger.counts.standard, historical: ledger.counts.historical });
  const { standard, historical } = await untilStored(service, ledger.counts);
  const stored = JSON.stringify({ standard, historical });
  const metered = await usage(service);
  const used = JSON.stringify({ standard: metered.standard, historical: metered.historical });
  return [
    ...(stored === expected ? [] : [`stored: ${stored}, acknowledged: ${expected}`]),
    ...(used === expected ? [] : [`usage: ${used}, acknowledged: ${expected}`]),
  ];
}

interface LoadOptions {
  readonly service: ProofService;
  readonly ledger: StormLedger;
  readonly seed: number;
  readonly dir: string;
}

/** Senders and imports of one epoch after the other. */
function createLoad({ service, ledger, seed, dir }: LoadOptions) {
  let epoch = 0;
  let [numbers, batches] = [0, 0];
  let running: { readonly senders: Senders; readonly importer: Importer } | undefined;
  return {
    importer: () => running?.importer,
    start: async (): Promise<void> => {
      const draw = createDraw(seed + epoch);
      const events = (count: number, batch?: number) =>
        Array.from({ length: count }, () =>
          makeEvent(draw, { epoch, number: (numbers += 1), ...(batch === undefined ? {} : { batch }) }),
        );
      const own = join(dir, String(epoch));
      await mkdir(own, { recursive: true });
      const importer = startImporter({ url: service.url, dir: own, nextEvents: () => events(importEvents) }, ledger);
      const nextBatch = (sender: number) => {
        const number = (batches += 1);
        // The last sender brings history.
        const isHistorical = sender === senders - 1;
        return { number, isHistorical, events: events(1 + draw.int(batchEventsMax), number) };
      };
      const rest = (): number => restMs.min + draw.int(restMs.max - restMs.min);
      running = {
        importer,
        senders: startSenders(service.url, { count: senders, nextBatch, restMs: rest }, ledger),
      };
    },
    /** Everything that was begun is done. Gives the epoch that is over. */
    stop: async (): Promise<number> => {
      await Promise.all([running?.senders.stop(), running?.importer.stop()]);
      running = undefined;
      epoch += 1;
      return epoch - 1;
    },
  };
}

interface Killing {
  readonly service: ProofService;
  readonly importer: () => Importer | undefined;
  readonly chance: Draw;
}

async function kill({ service, importer, chance }: Killing, wanted?: Victim): Promise<Victim> {
  await sleep(momentMs.min + chance.int(momentMs.max - momentMs.min));
  const drawn = wanted ?? drawVictim(chance);
  const isWaitedFor = chance.chance(0.75);
  const hit = async () => (drawn === 'importer' ? importer()?.kill() === true : service.kill(drawn));
  let isHit = await hit();
  // Of one that was asked for.
  const end = Date.now() + (wanted === undefined ? 0 : appearMs);
  for (; !isHit && Date.now() < end; await sleep(20)) {
    isHit = await hit();
  }
  if (!isHit) await service.kill('service');
  const victim = isHit ? drawn : 'service';
  // The others start again by themselves; sometimes the next kill finds them at it.
  if (victim === 'service') await service.start(isWaitedFor);
  else if (isWaitedFor) await service.untilReady();
  return victim;
}

function drawVictim(chance: Draw): Victim {
  let drawn = chance.int(100);
  for (const [victim, times] of frequencies) {
    if (drawn < times) return victim;
    drawn -= times;
  }
  throw new Error('expected the frequencies to be a hundred together');
}
