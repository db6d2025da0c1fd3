/**
 * Whether the service answers a call from memory. An event that waits for nothing else is about to resume, so those behind it wait
 * for their turn: counters and stored values of a plugin are exact and in the order of the events.
 */
export function isAnsweredAtOnce(op: string): boolean {
  // Compared by characters: in an isolate the plugin may have replaced the methods of strings.
  return isPrefix('storage.', op) || isPrefix('cache.', op);
}

function isPrefix(prefix: string, text: string): boolean {
  for (let at = 0; at < prefix.length; at++) if (text[at] !== prefix[at]) return false;
  return true;
}
