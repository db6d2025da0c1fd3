/** The parts of a page address, which need not be a complete URL: before `?`, between `?` and `#`, after `#`. */
interface AddressParts {
  readonly main: string;
  readonly query: string | undefined;
  readonly hash: string | undefined;
}

export function splitAddress(url: string): AddressParts {
  const hashAt = url.indexOf('#');
  const address = hashAt === -1 ? url : url.slice(0, hashAt);
  const queryAt = address.indexOf('?');
  return {
    main: queryAt === -1 ? address : address.slice(0, queryAt),
    query: queryAt === -1 ? undefined : address.slice(queryAt + 1),
    hash: hashAt === -1 ? undefined : url.slice(hashAt + 1),
  };
}

/** Returns text that cannot be percent-decoded unchanged. */
export function decodePercent(text: string, decode: (text: string) => string = decodeURIComponent): string {
  if (!text.includes('%')) return text;
  try {
    return decode(text);
  } catch (error) {
    if (error instanceof URIError) return text;
    throw error;
  }
}
