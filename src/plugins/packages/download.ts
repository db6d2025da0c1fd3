import type { OutboundError, OutboundFetch } from '../outbound/outbound.ts';
import type { ArchiveAttr } from './read-archive.ts';
import { PluginPackageError } from '../plugin-package-error.ts';

/** At most; what the service is configured to wait counts too. */
export const downloadTimeoutMs = 60_000;

/** The server says that there is no such thing. */
export class NotThereError extends PluginPackageError {
  override name = 'NotThereError';
}

/** Bytes of an address. Throws NotThereError, PluginPackageError, OutboundError. */
export async function download(fetch: OutboundFetch, url: string, attr: ArchiveAttr): Promise<Uint8Array> {
  const answer = await fetch({ url, timeoutMs: downloadTimeoutMs });
  if (answer.status === 200) return answer.body;
  const { origin, pathname } = new URL(url);
  if (answer.status === 404) throw new NotThereError(`Nothing is at ${origin}${pathname} (404).`, { attr });
  throw new PluginPackageError(`Expected an archive at ${origin}${pathname}, got status ${answer.status}.`, { attr });
}

/** What became of a request that could not be made, for whoever named the address. */
export function unreachable(error: OutboundError, attr: ArchiveAttr): PluginPackageError {
  const hint = error.retry ? ' Try again later.' : '';
  return new PluginPackageError(`${attr}: the package could not be fetched: ${error.message}.${hint}`, {
    attr,
    cause: error,
  });
}
