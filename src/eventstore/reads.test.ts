import { explorerConformance } from './explorer-conformance.ts';
import { readsConformance } from './reads-conformance.ts';
import { tempChdb } from '../../test/support/chdb.ts';

readsConformance('chDB', () => tempChdb());
explorerConformance('chDB', () => tempChdb());
