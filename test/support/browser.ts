import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Path of an installed Chromium; undefined when there is none, and browser tests skip. */
export const chromiumPath = places.find((path) => existsSync(path));

/** A headless browser that talks to nobody but the page under test. */
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
    ],
  });
}
