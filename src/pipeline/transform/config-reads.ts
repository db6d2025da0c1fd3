import { sharedAnswer } from '../../base/shared-answer.ts';
import { readConfigRevision } from '../../stores/metadata/config-revision.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { loadTransformConfigs, type TransformConfig } from './transform-configs.ts';

/** Reads of the store that chains need. */
export interface ConfigReads {
  /** Changes with every change of configuration. */
  readonly revision: () => Promise<number>;
  /** Returns the enabled configs of all projects as of this revision or a later one. */
  readonly configs: (revision: number) => Promise<readonly TransformConfig[]>;
}

export function configReads(db: Queries): ConfigReads {
  return { revision: () => readConfigRevision(db), configs: () => loadTransformConfigs(db) };
}

/** Shares reads between the chains of a process: the store is queried once per `staleMs`, so changes are seen that much later. */
export function sharedConfigReads(db: Queries, staleMs: number): ConfigReads {
  const load = (): Promise<readonly TransformConfig[]> => loadTransformConfigs(db);
  let loaded = { revision: -1, answer: load };
  return {
    revision: sharedAnswer(staleMs, () => readConfigRevision(db)),
    configs: (revision) => {
      // Configs read for another revision may be older than this one.
      if (loaded.revision !== revision) loaded = { revision, answer: sharedAnswer(staleMs, load) };
      return loaded.answer();
    },
  };
}
