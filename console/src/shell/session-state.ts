/** Records whether the session has ended while a page is open. */
export interface SessionState {
  readonly subscribe: (listener: () => void) => () => void;
  readonly isExpired: () => boolean;
  expire(): void;
  renew(): void;
}

export function createSessionState(): SessionState {
  const listeners = new Set<() => void>();
  let expired = false;
  const set = (next: boolean): void => {
    if (next === expired) return;
    expired = next;
    for (const listener of listeners) listener();
  };
  return {
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    isExpired: () => expired,
    expire: () => set(true),
    renew: () => set(false),
  };
}
