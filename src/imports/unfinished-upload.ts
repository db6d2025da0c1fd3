/**
 * A file whose size was announced lies under its name with this suffix until all of it has come. So no import reads a part of it, and a
 * file that it replaces stays until then.
 */
export const unfinishedSuffix = '.uploading';
