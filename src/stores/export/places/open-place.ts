import type { Staging } from '../../../imports/staging.ts';
import { SettingsError } from '../../../plugins/plugin.ts';
import { ExportPlaceError, type ExportPlace } from '../export-place.ts';
import type { PlaceOf } from '../run-export.ts';
import { openAzurePlace } from './azure-place.ts';
import { openGcsPlace } from './gcs-place.ts';
import type { PlaceDeps } from './place-deps.ts';
import { openS3Place } from './s3-place.ts';
import { stagedPlace } from './staged-place.ts';

export interface OpenPlaceDeps extends PlaceDeps {
  /** Files of exports that the service keeps. */
  readonly storage: Staging;
  /** Throws ExportPlaceError if the storage is full. */
  readonly assertRoom: () => Promise<void>;
}

/** Opens the place that an export names. @throws ExportPlaceError */
export async function openPlace(deps: OpenPlaceDeps, { id, destination, secrets }: PlaceOf): Promise<ExportPlace> {
  try {
    switch (destination.kind) {
      case 'service':
        return stagedPlace(deps.storage, id, deps.assertRoom);
      case 's3':
        return await openS3Place(deps, id, destination, secrets);
      case 'gcs':
        return openGcsPlace(deps, id, destination, secrets);
      case 'azure':
        return openAzurePlace(deps, id, destination, secrets);
    }
  } catch (error) {
    if (error instanceof SettingsError) throw new ExportPlaceError(error.message, { cause: error });
    throw error;
  }
}
