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

const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** JSON on several lines, to be read and edited: only white space differs, every digit and escape stays. No JSON: as it is. */
export function layOutJson(text: string): string {
  if (!isJson(text)) return text;
  const parts = text.match(tokens) ?? [];
  let depth = 0;
  let laid = '';
  const line = (): string => `\n${'  '.repeat(depth)}`;
  for (const [index, part] of parts.entries()) {
    const isEmptyPair = (part === '}' && parts[index - 1] === '{') || (part === ']' && parts[index - 1] === '[');
    if (part === '{' || part === '[') {
      depth += 1;
      const next = parts[index + 1];
      laid += next === '}' || next === ']' ? part : part + line();
    } else if (part === '}' || part === ']') {
      depth -= 1;
      laid += isEmptyPair ? part : line() + part;
    } else if (part === ',') laid += part + line();
    else laid += part === ':' ? ': ' : part;
  }
  return laid;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
