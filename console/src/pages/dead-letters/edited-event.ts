/** What a person made of a dead letter's event. */
export type EditedEvent =
  /** `json` is to be sent; undefined: the original, byte for byte. */
  { readonly kind: 'ready'; readonly json: string | undefined } | { readonly kind: 'wrong'; readonly reason: string };

/** Reads what is in the editor; `shown` is what it began with. The text itself is kept: parsing and writing would lose digits. */
export function readEdited(text: string, shown: string): EditedEvent {
  if (text === shown) return { kind: 'ready', json: undefined };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return { kind: 'wrong', reason: 'Expected one event: an object in braces.' };
    }
    return { kind: 'ready', json: text };
  } catch (error) {
    return { kind: 'wrong', reason: `This is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}
