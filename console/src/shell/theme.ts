import { useSyncExternalStore } from 'react';

export type Theme = 'system' | 'light' | 'dark';

/** Read by public/theme.js, which gives the page its theme. */
const storageKey = 'millrace-theme';
const changed = 'millrace-theme-changed';

export function useTheme(): readonly [theme: Theme, choose: (theme: Theme) => void] {
  return [useSyncExternalStore(subscribe, currentTheme), chooseTheme];
}

function subscribe(onChange: () => void): () => void {
  // storage: another tab; the other one: this tab.
  for (const type of ['storage', changed]) window.addEventListener(type, onChange);
  return () => {
    for (const type of ['storage', changed]) window.removeEventListener(type, onChange);
  };
}

function currentTheme(): Theme {
  const chosen = localStorage.getItem(storageKey);
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system';
}

function chooseTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(storageKey);
  else localStorage.setItem(storageKey, theme);
  window.dispatchEvent(new Event(changed));
}
