import type { Clock } from '../base/clock.ts';
import type { Metadata } from '../metadata/database.ts';
import type { PrepareDeps } from '../plugins/packages/prepare-plugin.ts';

export interface PluginDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  /** What installing needs: where packages come from, and where they are tried. */
  readonly packages: PrepareDeps;
}
