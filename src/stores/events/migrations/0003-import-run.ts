import type { SchemaForm } from '../schema-form.ts';

/** Longer than the mark at the end of any imported event: the id of a run has 100 characters at most. */
const tail = 'substring(properties, greatest(1, length(properties) - 200))';
/** No quote in the id and no backslash before the name, so that only the last member matches. */
const marked = `'[,{]"[$]import_run_id":"([^"]+)"[}]$'`;

/**
 * Value for rows that were stored without the column. Imported events end with the mark of their run, which is read as text there: the
 * engine's JSON functions find nothing in properties with a number beyond a double (1e400). In historical events it may be elsewhere,
 * if a transformation rewrote the properties.
 */
const runOfProperties = `multiIf(endsWith(properties, '"}') AND extract(${tail}, ${marked}) != '', extract(${tail}, ${marked}),
    historical_migration AND position(properties, '"$import_run_id"') > 0 AND JSONType(properties, '$import_run_id') = 'String',
    JSONExtractString(properties, '$import_run_id'), '')`;

/**
 * Adds the import run that stored an event, empty for none: `$import_run_id` of its properties. Existing rows derive it from their
 * properties, and store it once they are merged.
 */
export const importRun = (form: SchemaForm): readonly string[] => [
  `ALTER TABLE ${form.rowsOf('events')}${form.everywhere}
  ADD COLUMN IF NOT EXISTS import_run LowCardinality(String) DEFAULT ${runOfProperties}`,
  ...form.alterReadThrough('events', 'ADD COLUMN IF NOT EXISTS import_run LowCardinality(String)'),
];
