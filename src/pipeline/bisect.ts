/** Failures without a single success after which it is the store that fails, not the data. */
const failuresWithoutSuccessMax = 40;
const probesMax = 2000;

type Part = readonly [from: number, to: number];
/** Tries events [from, to) without keeping anything. */
export type Probe = (from: number, to: number) => Promise<boolean>;

/** It could not be told which events are poison: most likely none is. */
export class InconclusiveError extends Error {
  override name = 'InconclusiveError';
}

/**
 * Finds the poison events, which make a range fail, by trying ever smaller parts of it. `probe` tries events [from, to) of the range
 * without committing anything and says whether they went well; it throws when the stores are away.
 *
 * An event is poison only when others of the range go well: a store that refuses everything is in trouble itself, and no
 * event may be set aside for that.
 */
export async function bisect(count: number, probe: Probe): Promise<readonly number[]> {
  const suspects: number[] = [];
  const open: Part[] = [[0, count]];
  let control: Part | undefined;
  let probes = 0;
  for (let part = open.pop(); part !== undefined && probes < probesMax; part = open.pop()) {
    const [from, to] = part;
    if (from === to) continue;
    probes += 1;
    if (await probe(from, to)) {
      if (control === undefined || to - from < control[1] - control[0]) control = part;
    } else if (to - from === 1) {
      suspects.push(from);
    } else {
      const middle = Math.floor((from + to) / 2);
      open.push([middle, to], [from, middle]);
    }
    if (control === undefined && probes >= failuresWithoutSuccessMax) throw inconclusive(count);
  }
  return confirm(suspects, control, probe, count);
}

/** Trouble of the stores that came and went must not make an event poison: it fails again, and others go well just then. */
async function confirm(
  suspects: readonly number[],
  control: Part | undefined,
  probe: Probe,
  count: number,
): Promise<readonly number[]> {
  const poison: number[] = [];
  for (const at of suspects) {
    if (control === undefined) throw inconclusive(count);
    if (await probe(at, at + 1)) continue;
    if (!(await probe(...control))) throw inconclusive(count);
    poison.push(at);
  }
  return poison;
}

function inconclusive(count: number): InconclusiveError {
  return new InconclusiveError(`expected some of ${count} events to be stored, got: none; the events wait`);
}
