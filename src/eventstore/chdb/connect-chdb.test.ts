import { eventStoreConformance } from '../conformance.ts';
import { tempChdb } from '../../../test/support/chdb.ts';

eventStoreConformance('chDB', () => tempChdb());
