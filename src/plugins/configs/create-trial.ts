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

/** Why a plugin cannot work with the settings of a config; empty when it can, as far as that shows without running it. */
export type Trial = (config: Pick<StoredConfig, 'plugin' | 'settings' | 'attachments'>) => string;

/**
 * Creates a transformation as a worker would, so that whoever writes settings learns at once what is wrong with them.
 * Missing required settings are not its business: config-health.ts tells those.
 */
export function createTrial(registry: Pick<PluginRegistry, 'get'>, geoip: GeoIpState = noGeoIp): Trial {
  return ({ plugin, settings, attachments }) => {
    // What an installed plugin makes of its settings shows only in the sandbox.
    if (plugin.versionId !== null) return '';
    const code = registry.get(plugin.slug);
    if (code?.kind !== 'transformation') return '';
    if (missingRequired(code.fields, settings, attachedKeys({ attachments })).length > 0) return '';
    // A file that came earlier is in the store, and only a worker reads it there.
    if (attachments.some(({ content }) => content === undefined)) return '';
    try {
      code.create(withDefaults(code.fields, settings), trialHost(filesOf(attachments), geoip));
      return '';
    } catch (error) {
      // Whatever it is, the worker will meet it too: it belongs on the record, not in the way of the change.
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
