/** Where the focus begins in something that opens: its first field; without one, itself, not the button that closes it. */
export function firstField(popup: HTMLElement | null): HTMLElement | null {
  return (
    popup?.querySelector<HTMLElement>('input:not([disabled]), textarea:not([disabled]), select:not([disabled])') ??
    popup
  );
}
