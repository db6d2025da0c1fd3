import type { EventSelection } from '../../wire/contract/event-selection.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import { normalizeSelection, SelectionError } from '../../stores/events/selection.ts';

/** Validates `selection` of a request, and returns it in a form that can be stored as JSON. @throws ApiError */
export function readSelection(selection: EventSelection): EventSelection {
  try {
    return normalizeSelection(selection);
  } catch (error) {
    if (!(error instanceof SelectionError)) throw error;
    throw new ApiError('invalid_input', error.message, { attr: `selection__${error.attr}`, cause: error });
  }
}
