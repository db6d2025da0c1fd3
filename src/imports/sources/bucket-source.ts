import type { PluginField, SettingValues } from '../../plugins/fields.ts';
import { textSetting } from '../../plugins/setting-values.ts';
import { readRecords } from '../records/read-records.ts';
import { SourceError, type Source, type SourceContext, type SourceHost, type SourcePart } from '../source.ts';

const objectsMax = 100_000;

/** A bucket or container of a vendor, as an import reads it. */
export interface ObjectStore {
  /** Lists the objects with the prefix in pages. Errors: those of a source. */
  list(prefix: string, context: SourceContext): AsyncIterable<readonly ListedObject[]>;
  /** Reads the listed version of an object. Errors: those of a source; SourceChangedError if it was overwritten or removed. */
  read(part: SourcePart, context: SourceContext): AsyncIterable<Buffer>;
}

/** An object of a bucket and its part. */
export interface ListedObject {
  readonly key: string;
  readonly bytes: number;
  readonly part: SourcePart;
}

/** Settings that select objects, for every vendor. */
export const selectionFields: readonly PluginField[] = [
  {
    key: 'prefix',
    name: 'Prefix',
    type: 'string',
    hint: 'Only objects whose names begin with this, such as exports/2024/. Empty: all.',
  },
  {
    key: 'suffix',
    name: 'Suffix',
    type: 'string',
    hint: 'Only objects whose names end with this, such as .json.gz. Empty: all.',
  },
];

/** Creates a source whose parts are the selected objects of a store. */
export function bucketSource(store: ObjectStore, settings: SettingValues, { tempDir }: SourceHost): Source {
  const selection = { prefix: textSetting(settings, 'prefix'), suffix: textSetting(settings, 'suffix') };
  return {
    concurrency: 4,
    listParts: (_range, context) => chooseObjects(store.list(selection.prefix, context), selection),
    open: (part, context) => {
      const { signal, foreign } = context;
      const isOneOfSeveral = part.detail?.['several'] === true;
      return readRecords(store.read(part, context), { name: part.key, signal, tempDir, foreign, isOneOfSeveral });
    },
  };
}

/**
 * Selects the objects to read among those with the prefix, without empty ones and folder placeholders.
 * @throws SourceError if there are no objects, or more than a run can have
 */
async function chooseObjects(
  pages: AsyncIterable<readonly ListedObject[]>,
  { prefix, suffix }: { readonly prefix: string; readonly suffix: string },
): Promise<SourcePart[]> {
  const found: SourcePart[] = [];
  for await (const page of pages) {
    const some = page.filter(({ key, bytes }) => bytes > 0 && !key.endsWith('/') && key.endsWith(suffix));
    found.push(...some.map(({ part }) => part));
    if (found.length > objectsMax) {
      throw new SourceError(`expected at most ${objectsMax} objects, got more: import them in several runs, by prefix`);
    }
  }
  if (found.length === 1) return found;
  if (found.length > 1) return found.map(oneOfSeveral);
  throw new SourceError(
    `expected objects with names like ${prefix}…${suffix} in the bucket, found none: check prefix and suffix`,
  );
}

function oneOfSeveral(part: SourcePart): SourcePart {
  return { ...part, detail: { ...part.detail, several: true } };
}
