import type { SchemaForm } from '../schema-form.ts';

/**
 * Tells which granules can hold a uuid: one event is found by it without reading the uuids of all. It takes a byte or two of an event.
 * Rows that are there get it in the background, without a pause for those that come.
 */
export const uuidFilter = (form: SchemaForm): readonly string[] => {
  const alter = `ALTER TABLE ${form.rowsOf('events')}${form.everywhere}`;
  return [
    `${alter} ADD INDEX IF NOT EXISTS uuid_filter uuid TYPE bloom_filter(0.01) GRANULARITY 1`,
    `${alter} MATERIALIZE INDEX uuid_filter`,
  ];
};
