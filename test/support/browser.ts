import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

// The one without windows first: a test of the console takes a fifth less of the processor with it.
const places = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'].map(
  (name) => `/usr/bin/${name}`,
);

/** Path of an installed Chromium; `undefined` without one, and browser tests are skipped. */
export const chromiumPath = places.find((path) => existsSync(path));

/** A headless browser that only reaches the page under test. */
export function launchBrowser(): Promise<Browser> {
  if (!chromiumPath) throw new Error('expected Chromium to be installed');
  return chromium.launch({
    executablePath: chromiumPath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // A page lives for seconds: better code and a small heap, up to a fifth of the browser's processor time, never pay.
      '--js-flags=--no-opt --no-maglev --semi-space-growth-factor=4',
    ],
  });
}
