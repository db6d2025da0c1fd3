import { flag, searchOf, text } from '../../search.ts';
import { propertyFilters } from '../../api/property-filter.ts';

/** Search parameters of the page: the events to export, as the page of events passes them. */
export const exportsSearch = searchOf({
  event: text,
  distinct_id: text,
  person_id: text,
  /** Times or days in the format of the API. */
  after: text,
  before: text,
  historical: flag,
  import_run: text,
  properties: propertyFilters,
});

export type ExportsSearch = ReturnType<typeof exportsSearch>;
