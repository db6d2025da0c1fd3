/**
 * The metadata store could not be read during other work. The work itself is not at fault and must not be skipped: it is repeated once
 * the store is available.
 */
export class MetadataUnreadError extends Error {
  override name = 'MetadataUnreadError';
}
