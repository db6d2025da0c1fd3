// Before the first paint, so that a dark page does not flash white, and whenever the choice or the system changes. What is chosen
// is written by src/shell/theme.ts.
(function watchTheme() {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  function apply() {
    const chosen = localStorage.getItem('millrace-theme');
    const system = dark.matches ? 'dark' : 'light';
    document.documentElement.dataset.theme = chosen === 'light' || chosen === 'dark' ? chosen : system;
  }
  apply();
  dark.addEventListener('change', apply);
  // storage: another tab; the other one: this tab.
  addEventListener('storage', apply);
  addEventListener('millrace-theme-changed', apply);
})();
