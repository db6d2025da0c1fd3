import { fetchLoadedLate } from '../../plugins/outbound/load-late.ts';
import { parseAllowList } from '../../plugins/outbound/allow-list.ts';
import { createOidcSignIn, type OidcSignIn, type OidcSignInDeps } from '../sign-in/oidc-sign-in.ts';
import { readOidcSettings } from '../sign-in/oidc-settings.ts';
import { createProvider } from '../sign-in/provider.ts';
import type { Settings } from '../config/settings.ts';
import { outboundTrust } from './plugin-environment.ts';

const requestTimeoutMs = 5_000;
const responseBytesMax = 1_048_576;

/** The operator chooses the provider, which usually is in the company's network. Addresses of metadata services stay refused. */
const everyAddress = parseAllowList('0.0.0.0/0,::/0');

/**
 * Returns the sign-in with the provider of the settings, or `undefined` without one. `parts` receives what must be closed.
 * @throws ConfigError
 */
export function openOidcSignIn(
  settings: Settings,
  deps: Omit<OidcSignInDeps, 'provider'>,
  parts: AsyncDisposableStack,
): OidcSignIn | undefined {
  const oidc = readOidcSettings(settings);
  if (oidc === undefined) return undefined;
  const { ca } = outboundTrust(settings);
  const limits = { timeoutMs: requestTimeoutMs, bytesMax: responseBytesMax, redirectsMax: 0 };
  const fetch = fetchLoadedLate({ allow: everyAddress, ca, ...limits });
  parts.defer(() => fetch.close());
  return createOidcSignIn(oidc, { ...deps, provider: createProvider(oidc, { fetch, clock: deps.clock }) });
}
