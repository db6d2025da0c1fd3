/** Returns the initial focus of a popup: its first field or, without one, the popup itself rather than the close button. */
export function firstField(popup: HTMLElement | null): HTMLElement | null {
  return (
    popup?.querySelector<HTMLElement>('input:not([disabled]), textarea:not([disabled]), select:not([disabled])') ??
    popup
  );
}
