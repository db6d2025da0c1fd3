import { readsConformance } from './reads-conformance.ts';
import { tempChdb } from './test-chdb.ts';

readsConformance('chDB', () => tempChdb());
