import { inTables, sizeOf } from './check-staging.ts';
import { fine, problem, warning, type PreflightCheck } from './findings.ts';

const neededBytes = 256 * 1024 ** 2;
/** Bytes of events per byte of a source that is compressed, as most are: they share the disk with the tables of the run until they are merged. */
const inEvents = 2;
/** Bytes per byte of a compressed source of the second copy of the facts, ordered by component while persons are updated. */
const inOrderedFacts = 1;

/** Whether there is room where the tables of the run lie, and the events of the service's own project. */
export const checkStore: PreflightCheck = {
  name: 'store',
  look: async ({ deps, options, estimate }) => {
    const free = await deps.storeFreeBytes?.();
    if (free === undefined) return [];
    const advice = 'make room on the disk of the data directory';
    if (free < neededBytes) {
      return [
        problem('store_full', `the store of events has ${sizeOf(free)} left, less than ${sizeOf(neededBytes)}`, advice),
      ];
    }
    const bytes = (await estimate())?.bytesTotal;
    const isLoadedHere = options.target.kind === 'project' && options.last !== 'check';
    const mostFactor = inTables.most + (isLoadedHere ? inEvents + inOrderedFacts : 0);
    if (bytes !== undefined && bytes * mostFactor > free) {
      const has = `the store of events has ${sizeOf(free)} left, and the source has ${sizeOf(bytes)}, which may become too much`;
      return [warning('store_full', has, advice)];
    }
    return [fine(`the store of events has ${sizeOf(free)} left`)];
  },
  late: () => warning('store_full', 'how much room the store of events has could not be found out', null),
};
