import { sharedAnswer } from '../../base/shared-answer.ts';
import { readConfigRevision } from '../../stores/metadata/config-revision.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { loadTransformConfigs, type TransformConfig } from './transform-configs.ts';

/** What chains ask the store for. */
export interface ConfigReads {
  /** Changes with every change of configuration. */
  readonly revision: () => Promise<number>;
  /** The enabled configs of all projects as of this revision or a later one. */
  readonly configs: (revision: number) => Promise<readonly TransformConfig[]>;
}

export function configReads(db: Queries): ConfigReads {
  return { revision: () => readConfigRevision(db), configs: () => loadTransformConfigs(db) };
}

/** For many chains in one process: they ask the store once within `staleMs`, and see a change so much later. */
export function sharedConfigReads(db: Queries, staleMs: number): ConfigReads {
  const load = (): Promise<readonly TransformConfig[]> => loadTransformConfigs(db);
  let loaded = { revision: -1, answer: load };
  return {
    revision: sharedAnswer(staleMs, () => readConfigRevision(db)),
    configs: (revision) => {
      // What was read for another revision may be older than this one.
      if (loaded.revision !== revision) loaded = { revision, answer: sharedAnswer(staleMs, load) };
      return loaded.answer();
    },
  };
}
