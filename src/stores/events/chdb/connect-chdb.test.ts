import { eraseConformance } from '../../../../test/conformance/event-store/erase.ts';
import { eventStoreConformance, monthsConformance } from '../../../../test/conformance/event-store/event-store.ts';
import { tempChdb } from '../../../../test/support/chdb.ts';

eventStoreConformance('chDB', () => tempChdb());
eraseConformance('chDB', () => tempChdb());
monthsConformance('chDB', () => tempChdb());
