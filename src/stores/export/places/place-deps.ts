import type { SourceHost } from '../../../imports/source.ts';
import type { ExportDestination } from '../../../wire/contract/exports.ts';

/** What places need from their process: requests to permitted addresses only. */
export interface PlaceDeps {
  readonly stream: SourceHost['stream'];
  readonly now: SourceHost['now'];
  readonly resolve: SourceHost['resolve'];
}

/** Returns the beginning of the names of an export's files. */
export function folderOf({ prefix = '' }: ExportDestination, id: string): string {
  return `${prefix}${prefix === '' || prefix.endsWith('/') ? '' : '/'}${id}/`;
}
