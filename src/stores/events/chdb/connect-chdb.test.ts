import { eventStoreConformance } from '../../../../test/conformance/event-store/event-store.ts';
import { tempChdb } from '../../../../test/support/chdb.ts';

eventStoreConformance('chDB', () => tempChdb());
