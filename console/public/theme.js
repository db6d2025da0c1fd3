// Runs before the first paint, so that a dark page does not flash white. The key is that of src/shell/theme.ts.
(function applyTheme() {
  const chosen = localStorage.getItem('millrace-theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
})();
