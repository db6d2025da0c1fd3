import { bytesOfBase64 } from './base64.ts';
import type { Bridge, GivenAttachment, GivenMeta } from './bridge.ts';
import { bufferOver, type GuestBuffer } from './buffer.ts';
import { createCache } from './cache.ts';
import { createGeoIp } from './geoip.ts';
import { createJobs } from './jobs.ts';
import { createMetrics } from './metrics.ts';
import { createCursor, createStorage } from './storage.ts';

/** The last argument of a plugin's functions. */
export interface PluginMeta {
  readonly config: Record<string, unknown>;
  readonly attachments: Readonly<Record<string, unknown>>;
  readonly global: Record<string, unknown>;
  readonly [member: string]: unknown;
}

/** Created once per setup; every call receives the same object. */
export function createMeta(bridge: Bridge, given: GivenMeta): PluginMeta {
  return {
    config: given.config,
    attachments: Object.fromEntries(
      Object.entries(given.attachments).map(([key, attachment]) => [key, attachmentOf(attachment)]),
    ),
    global: {},
    cache: createCache(bridge),
    storage: createStorage(bridge),
    jobs: createJobs(bridge),
    geoip: createGeoIp(bridge),
    metrics: createMetrics(bridge, given.metrics),
    utils: { cursor: createCursor(bridge) },
  };
}

interface GuestAttachment {
  content_type: string;
  file_name: string;
  /** Converts to text as UTF-8, so that it can be passed to JSON.parse directly. */
  contents: GuestBuffer;
}

function attachmentOf({ content_type, file_name, contents_base64 }: GivenAttachment): GuestAttachment {
  return { content_type, file_name, contents: bufferOver(bytesOfBase64(contents_base64)) };
}
