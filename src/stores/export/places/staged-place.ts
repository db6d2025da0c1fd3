import type { Staging } from '../../../imports/staging.ts';
import type { ExportPlace } from '../export-place.ts';

/** The place of an export in the service's storage of exports, from where the API and the console download. */
export function stagedPlace(staging: Staging, id: string, assertRoom: () => Promise<void>): ExportPlace {
  return {
    write: async (name, chunks) => {
      await assertRoom();
      return await staging.write(`${id}/${name}`, chunks);
    },
    // With the files that an interrupted write left.
    remove: async (names) => {
      for (const name of names) await staging.remove(`${id}/${name}`);
    },
    close: () => undefined,
  };
}
