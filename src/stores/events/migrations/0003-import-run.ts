import type { SchemaForm } from '../schema-form.ts';

/** Longer than the mark at the end of any imported event: the id of a run has 100 characters at most. */
const tail = 'substring(properties, greatest(1, length(properties) - 200))';
/** No quote within the id and no backslash before the name: nothing but the last member looks like it. */
const marked = `'[,{]"[$]import_run_id":"([^"]+)"[}]$'`;

/**
 * For rows that were stored without it. Imported events end with the mark of their run, and there it is read as text: the engine's
 * JSON functions find nothing in properties that hold a number beyond a double (1e400). In history it may stand elsewhere, where a
 * transformation wrote the properties anew.
 */
const runOfProperties = `multiIf(endsWith(properties, '"}') AND extract(${tail}, ${marked}) != '', extract(${tail}, ${marked}),
    historical_migration AND position(properties, '"$import_run_id"') > 0 AND JSONType(properties, '$import_run_id') = 'String',
    JSONExtractString(properties, '$import_run_id'), '')`;

/**
 * The import run that stored an event, empty for none: `$import_run_id` of its properties. Rows that are there show it from their
 * properties, and keep it once they are merged with others.
 */
export const importRun = (form: SchemaForm): readonly string[] => [
  `ALTER TABLE ${form.rowsOf('events')}${form.everywhere}
  ADD COLUMN IF NOT EXISTS import_run LowCardinality(String) DEFAULT ${runOfProperties}`,
  ...form.alterReadThrough('events', 'ADD COLUMN IF NOT EXISTS import_run LowCardinality(String)'),
];
