import { visible } from './visible-text.ts';

/**
 * Makes untrusted text safe where only plain text is possible (labels, options, tab titles), which cannot isolate its direction:
 * replaces direction marks with visible code points and limits the length.
 */
export function plainText(text: string, charsMax = 120): string {
  return visible(text.length > charsMax ? `${text.slice(0, charsMax)}…` : text);
}
