import { useSyncExternalStore } from 'react';

export type Theme = 'system' | 'light' | 'dark';

/** Also read by public/theme.js, which applies the theme before the first render. */
const storageKey = 'millrace-theme';
const changed = 'millrace-theme-changed';

export function useTheme(): readonly [theme: Theme, choose: (theme: Theme) => void] {
  return [useSyncExternalStore(subscribe, currentTheme), chooseTheme];
}

function subscribe(onChange: () => void): () => void {
  // `storage` fires for changes in other tabs, the custom event for changes in this one.
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
