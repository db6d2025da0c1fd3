/** Finds texts that contain one of some ids as a whole value: a JSON string, a number, or a line or cell of such a file. */
export interface Mentions {
  in(text: string): boolean;
}

/** Strings, and what stands between separators. */
const values = /"(?:[^"\\]|\\.)*"|[^\s,;:{}[\]"]+/g;
const depthMax = 4;

export function createMentions(ids: Iterable<string>): Mentions {
  const wanted = new Set(ids);
  // A text without the letters of an id, escaped or not, need not be split.
  const [only] = wanted.size === 1 ? wanted : [];
  const plain = only !== undefined && /^[\w.@-]+$/.test(only) ? only : undefined;
  const isIn = (text: string, depth: number): boolean => {
    if (wanted.has(text)) return true;
    if (plain !== undefined && !text.includes(plain) && !text.includes('\\')) return false;
    for (const [value] of text.matchAll(values)) {
      if (wanted.has(value)) return true;
      if (!value.startsWith('"')) continue;
      const inner = unquoted(value);
      if (wanted.has(inner)) return true;
      // A text in a text: a record that is kept as it was received.
      if (depth < depthMax && /["\n,;]/.test(inner) && isIn(inner, depth + 1)) return true;
    }
    return false;
  };
  return { in: (text) => isIn(text, 0) };
}

function unquoted(value: string): string {
  if (!value.includes('\\')) return value.slice(1, -1);
  try {
    return JSON.parse(value) as string;
  } catch {
    return value.slice(1, -1);
  }
}
