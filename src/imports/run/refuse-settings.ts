import { ApiError } from '../../wire/contract/errors.ts';
import type { StoredConfig } from '../../plugins/configs/stored-config.ts';
import { withDefaults } from '../../plugins/check-settings.ts';
import { withoutSecrets } from '../../plugins/mask-secrets.ts';
import { SettingsError, type ImportSourcePlugin } from '../../plugins/plugin.ts';
import type { SourceHost } from '../source.ts';

/**
 * Refuses settings with which the source cannot even be made, before anything is fetched: at once, and not when a worker takes
 * the run. What only the other side knows (a key that is not valid, a file that is missing) the run finds out.
 * @throws ApiError invalid_input that names the setting
 */
export function refuseSettings(source: ImportSourcePlugin, { settings }: StoredConfig, now: number): void {
  try {
    source.createSource(withDefaults(source.fields, settings), idleHost(now));
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const detail = withoutSecrets(error.message, source.fields, settings);
    const attr = error.key === undefined ? null : `settings.${error.key}`;
    throw new ApiError('invalid_input', detail, { attr, cause: error });
  }
}

/** For a source that is made and not used. */
function idleHost(now: number): SourceHost {
  const unused = (): Promise<never> => Promise.reject(new Error('expected a source that is not asked for anything'));
  return {
    stream: unused,
    resolve: unused,
    allowedDirs: [],
    uploadsDir: '',
    tempDir: '',
    now: () => now,
  };
}
