// Sets the theme before the first paint, so that a dark page does not flash white, and whenever the setting or the system
// preference changes. src/shell/theme.ts stores the setting.
(function watchTheme() {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  function apply() {
    const chosen = localStorage.getItem('millrace-theme');
    const system = dark.matches ? 'dark' : 'light';
    document.documentElement.dataset.theme = chosen === 'light' || chosen === 'dark' ? chosen : system;
  }
  apply();
  dark.addEventListener('change', apply);
  // `storage` fires for changes in other tabs, the custom event for changes in this one.
  addEventListener('storage', apply);
  addEventListener('millrace-theme-changed', apply);
})();
