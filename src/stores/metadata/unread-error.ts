/**
 * The metadata store could not be read in the middle of other work. Nothing is said of what was worked on: it is neither at fault nor
 * to be left out, and is done again once the store is back.
 */
export class MetadataUnreadError extends Error {
  override name = 'MetadataUnreadError';
}
