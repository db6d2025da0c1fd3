import { eventStoreConformance } from './conformance.ts';
import { tempChdb } from './test-chdb.ts';

eventStoreConformance('chDB', () => tempChdb());
