import type { GroupStore } from './persons/group-store.ts';
import type { PersonStore } from './persons/person-store.ts';
import type { TransformChains } from './transform/transform-chains.ts';
import type { ChainQueue } from './chain-queue.ts';
import type { CompiledPlan } from '../wire/tracking-plan/compile-plan.ts';
import type { KeptOut } from '../wire/batch/kept-out.ts';
import type { KnownByVersion } from './known-by-version.ts';
import type { KnownProjects } from './known-projects.ts';
import type { LiveNotes } from './live-notes.ts';
import type { Observers } from './observers.ts';
import type { OpenRecord } from './open-record.ts';
import type { ProfileNotes } from './profile-notes.ts';
import type { ViolationTally } from './violation-tally.ts';
import type { WindowResults } from './window-results.ts';
import type { WindowRows } from './window-rows.ts';

/** Dependencies of the steps. */
export interface StepDeps {
  readonly projects: KnownProjects;
  readonly plans: Pick<KnownByVersion<CompiledPlan>, 'of'>;
  readonly keptOut: Pick<KnownByVersion<KeptOut>, 'of'>;
  readonly violations: Pick<ViolationTally, 'add'>;
  readonly chains: TransformChains;
  readonly queue: ChainQueue;
  readonly persons: PersonStore;
  readonly groups: GroupStore;
  readonly notes: ProfileNotes;
  readonly rows: WindowRows;
  readonly observers: Observers;
  readonly results: WindowResults;
  readonly live: LiveNotes;
}

/** Processes those events of a record whose state the step handles. */
export type Step = (record: OpenRecord) => void;
