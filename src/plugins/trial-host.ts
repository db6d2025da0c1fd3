import type { Attachment, GeoIp, TransformationHost } from './host.ts';

/** A host for validating settings: everything visible or slow refuses. */
export function trialHost(
  attachments: ReadonlyMap<string, Attachment>,
  geoip: { readonly geoip: GeoIp | undefined; readonly geoipProblem: string },
): TransformationHost {
  const refuse = async (): Promise<never> => {
    throw new Error('a plugin must have no visible effect while it is only created');
  };
  const storage = { get: refuse, getMany: refuse, set: refuse, delete: refuse, increment: refuse };
  const lists = { listPush: refuse, listRange: refuse, listLength: refuse, listRemove: refuse, listPop: refuse };
  const cache = { get: refuse, set: refuse, delete: refuse, increment: refuse, expire: refuse, ...lists };
  return { projectId: 0, configId: 0, attachments, storage, cache, fetch: refuse, ...geoip, now: () => 0 };
}
