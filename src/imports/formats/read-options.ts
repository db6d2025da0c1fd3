import { FormatOptionsError, type FormatOption, type FormatOptions } from './format.ts';

/**
 * The options of a format with their defaults. Throws FormatOptionsError for one that the format does not have and for a
 * value that is none of its choices.
 */
export function readOptions(slug: string, declared: readonly FormatOption[], given: FormatOptions): FormatOptions {
  const known = new Map(declared.map((option) => [option.key, option]));
  for (const [key, value] of Object.entries(given)) {
    const option = known.get(key);
    if (option === undefined) {
      const keys = [...known.keys()].join(', ') || 'none';
      throw new FormatOptionsError(`the format ${slug} has no option ${key}; it has: ${keys}`);
    }
    if (option.choices?.includes(value) === false) {
      throw new FormatOptionsError(
        `option ${key} of the format ${slug} is one of ${option.choices.join(', ')}, not ${value.slice(0, 100)}`,
      );
    }
  }
  const defaults = declared.map((option) => [option.key, option.default ?? ''] as const);
  return { ...Object.fromEntries(defaults), ...given };
}
