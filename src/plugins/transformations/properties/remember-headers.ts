/** Matching takes more than linear time, and no browser's header is nearly as long. */
export const userAgentLengthMax = 1000;
/** A project receives the same few hundred headers again and again. */
const knownMax = 2000;

/** Caches results by user agent header, of which only the first characters count. */
export function rememberHeaders<Result>(compute: (header: string) => Result): (header: string) => Result {
  const known = new Map<string, { readonly result: Result }>();
  return (given) => {
    const header = given.slice(0, userAgentLengthMax);
    let found = known.get(header);
    if (found === undefined) {
      found = { result: compute(header) };
      if (known.size >= knownMax) known.clear();
      known.set(header, found);
    }
    return found.result;
  };
}
