/** Tells whether a key press goes into a field, so that single-letter shortcuts ignore it. */
export function isTyping(event: KeyboardEvent): boolean {
  if (event.altKey || event.ctrlKey || event.metaKey) return true;
  // composedPath sees through shadow roots, which the code editor uses.
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  return (
    target.isContentEditable ||
    target.matches('input:not([type=checkbox]):not([type=radio]), textarea, select, [role=textbox]')
  );
}
