import type { Staging } from '../staging.ts';
import type { LeasedRun } from './leased-run.ts';

/**
 * Staging in the hands of one worker. One that stood still while another took the run over completes no file in the place of the
 * other's: whether the run is still its own is asked after the last byte, before the file shows itself.
 */
export function heldStaging(staging: Staging, leased: Pick<LeasedRun, 'assertHeld'>): Staging {
  return {
    ...staging,
    write: (key, chunks) => staging.write(key, endHeld(chunks, leased)),
    async remove(prefix) {
      await leased.assertHeld();
      await staging.remove(prefix);
    },
  };
}

async function* endHeld(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  leased: Pick<LeasedRun, 'assertHeld'>,
): AsyncGenerator<Uint8Array> {
  yield* chunks;
  await leased.assertHeld();
}
