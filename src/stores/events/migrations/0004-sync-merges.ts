import type { SchemaForm } from '../schema-form.ts';

/**
 * Syncs merged or mutated parts before the replaced ones are removed. The embedded engine removes replaced parts within seconds, so a
 * power cut could otherwise lose rows that were inserted long before.
 */
export const syncMerges = (form: SchemaForm): readonly string[] => [
  `ALTER TABLE ${form.rowsOf('events')}${form.everywhere} MODIFY SETTING min_rows_to_fsync_after_merge = 1`,
];
