import type { Queries } from '../../stores/metadata/queries.ts';
import type { Attachment } from '../host.ts';

/** Loads the files of a config, by key. */
export async function loadFiles(db: Queries, configId: number): Promise<ReadonlyMap<string, Attachment>> {
  const rows = await db
    .selectFrom('plugin_attachments')
    .select(['key', 'file_name', 'content_type', 'content'])
    .where('config_id', '=', configId)
    .execute();
  return new Map(
    rows.map((row) => [row.key, { fileName: row.file_name, contentType: row.content_type, content: row.content }]),
  );
}
