/** Ids that stand for many people, in any case. */
const inAnyCase = new Set([
  'anonymous',
  'guest',
  'distinctid',
  'distinct_id',
  'id',
  'not_authenticated',
  'email',
  'undefined',
  'true',
  'false',
]);
const asWritten = new Set(['[object Object]', 'NaN', 'None', 'none', 'null', '0', 'undefined']);

/** Whether an id names nobody in particular, so that nothing may be merged by it. Also when wrapped in quotes. */
export function isIllegalId(id: string): boolean {
  const text = id.trim();
  if (text === '') return true;
  const bare = unquoted(text);
  return inAnyCase.has(bare.toLowerCase()) || asWritten.has(bare);
}

function unquoted(text: string): string {
  const quote = text[0];
  return text.length >= 2 && (quote === '"' || quote === "'") && text.endsWith(quote) ? text.slice(1, -1) : text;
}
