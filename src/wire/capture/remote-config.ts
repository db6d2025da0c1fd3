/**
 * The keys that libraries read from their remote configuration; everything optional is off. The key `surveys` is left out:
 * whatever its value but null, the browser library goes to fetch its code for surveys.
 */
export const remoteConfig = {
  supportedCompression: ['gzip', 'gzip-js'],
  analytics: { endpoint: '/i/v0/e/' },
  hasFeatureFlags: false,
  autocapture_opt_out: false,
  capturePerformance: false,
  captureDeadClicks: false,
  heatmaps: false,
  sessionRecording: false,
  errorTracking: { autocaptureExceptions: false },
  elementsChainAsString: true,
  defaultIdentifiedOnly: true,
  siteApps: [],
  toolbarParams: {},
  isAuthenticated: false,
} as const;

/** The same as a script for the project's pages. */
export function configScript(token: string): string {
  const text = (value: unknown): string => JSON.stringify(value).replaceAll('<', String.raw`\u003c`);
  return `(function (w) {
  w._POSTHOG_REMOTE_CONFIG = w._POSTHOG_REMOTE_CONFIG || {};
  w._POSTHOG_REMOTE_CONFIG[${text(token)}] = { config: ${text({ token, ...remoteConfig })}, siteApps: [] };
})(window);
`;
}
