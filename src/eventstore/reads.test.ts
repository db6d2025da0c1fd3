import { readsConformance } from './reads-conformance.ts';
import { tempChdb } from '../../test/support/chdb.ts';

readsConformance('chDB', () => tempChdb());
