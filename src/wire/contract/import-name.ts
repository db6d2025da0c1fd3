/** Files of an import. */
interface NamedFiles {
  /** Path or address of the first file. */
  readonly first: string;
  readonly count: number;
}

/**
 * Returns the name of an import until a user gives it one, in the console and for a run of the command line: "Mixpanel, 25 files".
 *
 * @param app name of the import app, which names imports without files
 * @param format name of the format; `undefined` while it is unknown
 */
export function importName(app: string, files: NamedFiles | undefined, format?: string): string {
  if (files === undefined) return app;
  const { first, count } = files;
  const what = count > 1 ? `${count} files` : (first.split('/').findLast((segment) => segment !== '') ?? first);
  return format === undefined ? what : `${format}, ${what}`;
}
