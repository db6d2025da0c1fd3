/** Shares one call among all callers within `ms` of the first. A failure is passed to the waiting callers and not cached. */
export function sharedAnswer<T>(
  ms: number,
  ask: () => Promise<T>,
  nowMs: () => number = () => performance.now(),
): () => Promise<T> {
  let last: { readonly at: number; readonly answer: Promise<T> } | undefined;
  return () => {
    const now = nowMs();
    if (last !== undefined && now - last.at < ms) return last.answer;
    const answer = ask();
    const asked = { at: now, answer };
    last = asked;
    answer.catch(() => {
      if (last === asked) last = undefined;
    });
    return answer;
  };
}
