import type { SchemaForm } from '../schema-form.ts';

/**
 * Adds an index of which granules can contain a uuid, so that one event is found without reading all uuids. It takes one or two bytes
 * per event. Existing rows are indexed in the background, without blocking inserts.
 */
export const uuidFilter = (form: SchemaForm): readonly string[] => {
  const alter = `ALTER TABLE ${form.rowsOf('events')}${form.everywhere}`;
  return [
    `${alter} ADD INDEX IF NOT EXISTS uuid_filter uuid TYPE bloom_filter(0.01) GRANULARITY 1`,
    `${alter} MATERIALIZE INDEX uuid_filter`,
  ];
};
