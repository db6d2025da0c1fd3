import { inTables, sizeOf } from './check-staging.ts';
import { fine, problem, warning, type PreflightCheck } from './findings.ts';

const neededBytes = 256 * 1024 ** 2;
/** Bytes of events per byte of a source that is compressed, as most are: until they are merged they share the disk with the run's tables. */
const inEvents = 2;
/** Bytes per byte of a compressed source for the second copy of the facts, sorted by component while persons are updated. */
const inOrderedFacts = 1;

/** Checks whether there is room for the run's tables, and for the events of the service's own project. */
export const checkStore: PreflightCheck = {
  name: 'store',
  run: async ({ deps, options, estimate }) => {
    const free = await deps.storeFreeBytes?.();
    if (free === undefined) return [];
    const advice = 'free some space on the disk of the data directory';
    if (free < neededBytes) {
      return [
        problem('store_full', `the event store has ${sizeOf(free)} left, less than ${sizeOf(neededBytes)}`, advice),
      ];
    }
    const bytes = (await estimate())?.bytesTotal;
    const isLoadedHere = options.target.kind === 'project' && options.last !== 'check';
    const mostFactor = inTables.most + (isLoadedHere ? inEvents + inOrderedFacts : 0);
    if (bytes !== undefined && bytes * mostFactor > free) {
      const has = `the event store has ${sizeOf(free)} left, and the source has ${sizeOf(bytes)}, which may not fit`;
      return [warning('store_full', has, advice)];
    }
    return [fine(`the event store has ${sizeOf(free)} left`)];
  },
  late: () => warning('store_full', 'expected the free space of the event store, got no response in time', null),
};
