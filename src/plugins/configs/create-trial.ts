import { missingRequired, withDefaults } from '../check-settings.ts';
import { withoutSecrets } from '../mask-secrets.ts';
import type { GeoIp } from '../host.ts';
import type { PluginRegistry } from '../plugin-registry.ts';
import { trialHost } from '../trial-host.ts';
import { attachedKeys, type StoredAttachment, type StoredConfig } from './stored-config.ts';

const errorLengthMax = 500;

export interface GeoIpState {
  readonly geoip: GeoIp | undefined;
  readonly geoipProblem: string;
}
const noGeoIp: GeoIpState = { geoip: undefined, geoipProblem: 'no GeoIP database is configured' };

/** Returns why a plugin cannot work with a config's settings; empty when it can, as far as that shows without running it. */
export type Trial = (config: Pick<StoredConfig, 'plugin' | 'settings' | 'attachments'>) => string;

/**
 * Creates a transformation as a worker would, so that invalid settings are reported when they are saved. Missing required
 * settings are reported by config-health.ts.
 */
export function createTrial(registry: Pick<PluginRegistry, 'get'>, geoip: GeoIpState = noGeoIp): Trial {
  return ({ plugin, settings, attachments }) => {
    // The effect of settings on an installed plugin shows only in the sandbox.
    if (plugin.versionId !== null) return '';
    const code = registry.get(plugin.slug);
    if (code?.kind !== 'transformation') return '';
    if (missingRequired(code.fields, settings, attachedKeys({ attachments })).length > 0) return '';
    // A previously uploaded file is in the store, where only a worker reads it.
    if (attachments.some(({ content }) => content === undefined)) return '';
    try {
      code.create(withDefaults(code.fields, settings), trialHost(filesOf(attachments), geoip));
      return '';
    } catch (error) {
      // The worker will hit the same error: it belongs on the record and does not block the change.
      const text = error instanceof Error ? error.message : String(error);
      return withoutSecrets(text, code.fields, settings).slice(0, errorLengthMax);
    }
  };
}

function filesOf(attachments: readonly StoredAttachment[]) {
  return new Map(
    attachments.map(({ key, fileName, contentType, content = new Uint8Array() }) => [
      key,
      { fileName, contentType, content },
    ]),
  );
}
