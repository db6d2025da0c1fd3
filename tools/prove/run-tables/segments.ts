import type { RunRef } from '../../../src/stores/events/eventstore.ts';
import type { EventRow } from '../../../src/stores/events/rows.ts';
import { runRow } from '../../../test/support/run-table-rows.ts';

export interface RunShape {
  readonly segments: number;
  readonly rowsOfSegment: number;
  readonly months: number;
}

const texts = ['it\'s \\ "quoted"', 'é 😀', '\u0000\t\n', '{x:String}'];

/** Returns the rows of a run. Each segment repeats a tenth of the one before, with other places. */
export function segmentsOf(run: RunRef, { segments, rowsOfSegment, months }: RunShape): EventRow[][] {
  const all: EventRow[][] = [];
  for (let segment = 0; segment < segments; segment++) {
    const rows = Array.from({ length: rowsOfSegment }, (_, at) => {
      const n = segment * rowsOfSegment + at;
      const properties = `{"n":${n},"digits":1234567890123456789,"text":${JSON.stringify(texts[at % texts.length])}}`;
      const more = { keyDay: 19_000 + (at % months) * 31, distinctId: `user-${at % 99}`, properties };
      const row = runRow(run, n, more);
      const repeated = at % 10 === 0 ? all.at(-1)?.[at] : undefined;
      return repeated === undefined ? row : { ...row, uuid: repeated.uuid };
    });
    all.push(rows);
  }
  return all;
}
