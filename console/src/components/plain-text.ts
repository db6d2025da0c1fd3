import { visible } from './visible-text.ts';

/**
 * Text that somebody else wrote, where only plain text can stand (labels, options, the title of the tab) and nothing can be
 * isolated: what could turn its direction is made visible, and its length is bounded.
 */
export function plainText(text: string, charsMax = 120): string {
  return visible(text.length > charsMax ? `${text.slice(0, charsMax)}…` : text);
}
