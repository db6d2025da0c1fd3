import { SourceError, type Source, type SourcePart } from '../../imports/source.ts';

/** A part as the sources that are combined know it, and which of them it belongs to. */
type Owned = { readonly source: number; readonly key: string };

/**
 * Several sources as one: files, addresses and buckets named in one command. Parts come in the order of the sources; where two have
 * a part of the same name, the later one's gets a number.
 */
export function combineSources(sources: readonly Source[]): Source {
  const [only] = sources;
  if (only !== undefined && sources.length === 1) return only;
  return {
    concurrency: Math.max(1, ...sources.map(({ concurrency }) => concurrency)),
    listParts: async (range, context) => {
      const seen = new Set<string>();
      const parts: SourcePart[] = [];
      for (const [source, each] of sources.entries()) {
        const known = context.known?.flatMap((part) => ownPart(part, source) ?? []);
        for (const part of await each.listParts(range, { ...context, ...(known && { known }) })) {
          const key = seen.has(part.key) ? `${part.key} (${source + 1})` : part.key;
          seen.add(key);
          const owned: Owned = { source, key: part.key };
          parts.push({ ...part, key, detail: { owned, ...(part.detail === undefined ? {} : { own: part.detail }) } });
        }
      }
      return parts;
    },
    open: (part, context) => {
      const { source, own } = ownerOf(sources, part);
      return source.open(own, context);
    },
    checksumNow: async (part, context) => {
      const { source, own } = ownerOf(sources, part);
      return source.checksumNow?.(own, context);
    },
    describe: (parts) =>
      sources
        .map((each, source) => each.describe?.(parts.flatMap((part) => ownPart(part, source) ?? [])) ?? '')
        .filter((text) => text !== '')
        .join('; '),
    release: async () => {
      for (const source of sources) await source.release?.();
    },
  };
}

/** The part as one source knows it; undefined: it is another's. */
function ownPart<Part extends Pick<SourcePart, 'key' | 'detail'>>(part: Part, source: number): Part | undefined {
  const { owned, own } = (part.detail ?? {}) as { owned?: Owned; own?: SourcePart['detail'] };
  if (owned?.source !== source) return undefined;
  const { detail: _, ...rest } = part;
  // Sound: the same but for what the two lines above and below say.
  return { ...rest, key: owned.key, ...(own === undefined ? {} : { detail: own }) } as Part;
}

/** The source that a part belongs to, and the part as that one knows it. */
function ownerOf(sources: readonly Source[], part: SourcePart): { readonly source: Source; readonly own: SourcePart } {
  for (const [index, source] of sources.entries()) {
    const own = ownPart(part, index);
    if (own !== undefined) return { source, own };
  }
  throw new SourceError(`expected the part ${part.key} to be of one of the sources named; start anew with --again`);
}
