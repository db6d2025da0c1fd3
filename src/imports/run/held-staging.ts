import type { Staging } from '../staging.ts';
import type { LeasedRun } from './leased-run.ts';

/**
 * Wraps the staging of a leased run. A worker that stalled while another one claimed its run must not replace the other's files: the
 * lease is checked after the last byte, before the file becomes visible.
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
