/** The state of a dead letter's event in the editor. */
type EditedEvent =
  /** `json` will be sent; `undefined` means the original, byte for byte. */
  { readonly kind: 'ready'; readonly json: string | undefined } | { readonly kind: 'invalid'; readonly reason: string };

/** Validates the text of the editor; `shown` is its initial text. The text is sent as is, since re-serialising would lose digits. */
export function readEdited(text: string, shown: string): EditedEvent {
  if (text === shown) return { kind: 'ready', json: undefined };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return { kind: 'invalid', reason: 'Expected one event as a JSON object.' };
    }
    return { kind: 'ready', json: text };
  } catch (error) {
    return { kind: 'invalid', reason: `Invalid JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Indents JSON without changing digits or escapes. Text that is not JSON is returned unchanged. */
export function indentJson(text: string): string {
  if (!isJson(text)) return text;
  const parts = text.match(tokens) ?? [];
  let depth = 0;
  let indented = '';
  const line = (): string => `\n${'  '.repeat(depth)}`;
  for (const [index, part] of parts.entries()) {
    const isEmptyPair = (part === '}' && parts[index - 1] === '{') || (part === ']' && parts[index - 1] === '[');
    if (part === '{' || part === '[') {
      depth += 1;
      const next = parts[index + 1];
      indented += next === '}' || next === ']' ? part : part + line();
    } else if (part === '}' || part === ']') {
      depth -= 1;
      indented += isEmptyPair ? part : line() + part;
    } else if (part === ',') indented += part + line();
    else indented += part === ':' ? ': ' : part;
  }
  return indented;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
