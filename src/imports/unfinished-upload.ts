/**
 * Suffix of a file's name until all announced bytes are uploaded, so that no import reads a part of it, and a file that it replaces
 * stays until then.
 */
export const unfinishedSuffix = '.uploading';
