/**
 * Calls of plugins that the service answers from what it holds. An event that waits for nothing else is about to go on, so those
 * behind it wait for their turn: what a plugin counts and remembers is exact, and in the order of the events.
 */
export function isAnsweredAtOnce(op: string): boolean {
  // By characters: in an isolate the methods of texts may be the plugin's.
  return isPrefix('storage.', op) || isPrefix('cache.', op);
}

function isPrefix(prefix: string, text: string): boolean {
  for (let at = 0; at < prefix.length; at++) if (text[at] !== prefix[at]) return false;
  return true;
}
