import type { GuestDeps } from './globals.ts';
import { URLSearchParams } from './url-search-params.ts';

/** Node's module `url`: the classes, and the legacy functions. */
export function createUrlModule({ bridge, URL }: GuestDeps): Record<string, unknown> {
  const ask = (op: string, ...args: readonly unknown[]): unknown => bridge.callSync(`url.${op}`, args);
  class Url {
    format(): unknown {
      return ask('legacyFormat', { ...this });
    }

    resolve(relative: unknown): unknown {
      return ask('legacyResolve', this.format(), String(relative));
    }
  }
  return {
    URL,
    URLSearchParams,
    Url,
    parse: (text: unknown, parseQuery = false, slashesDenoteHost = false) => {
      if (text instanceof Url) return text;
      if (typeof text !== 'string') throw new TypeError(`url.parse: expected text, got a value of type ${typeof text}`);
      return Object.assign(new Url(), ask('legacyParse', text, Boolean(parseQuery), Boolean(slashesDenoteHost)));
    },
    format: (given: unknown) =>
      given instanceof URL ? given.href : ask('legacyFormat', typeof given === 'string' ? given : { ...Object(given) }),
    resolve: (from: unknown, to: unknown) => ask('legacyResolve', String(from), String(to)),
    domainToASCII: (domain: unknown) => hostnameOf(URL, domain),
  };
}

function hostnameOf(URL: GuestDeps['URL'], domain: unknown): string {
  return URL.parse(`ws://${String(domain)}`)?.hostname ?? '';
}
