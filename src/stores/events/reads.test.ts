import { explorerConformance } from '../../../test/conformance/event-store/explorer.ts';
import { readsConformance } from '../../../test/conformance/event-store/reads.ts';
import { tempChdb } from '../../../test/support/chdb.ts';

readsConformance('chDB', () => tempChdb());
explorerConformance('chDB', () => tempChdb());
