/**
 * The keys that libraries read from their remote configuration, with everything optional off. The key `surveys` is omitted,
 * because any value except null makes the browser library fetch its code for surveys.
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

/** Builds the script form of the configuration for a project's pages. */
export function configScript(token: string): string {
  const text = (value: unknown): string => JSON.stringify(value).replaceAll('<', String.raw`\u003c`);
  return `(function (w) {
  w._POSTHOG_REMOTE_CONFIG = w._POSTHOG_REMOTE_CONFIG || {};
  w._POSTHOG_REMOTE_CONFIG[${text(token)}] = { config: ${text({ token, ...remoteConfig })}, siteApps: [] };
})(window);
`;
}
