import { tempMetadata } from '../../../test/support/metadata.ts';
import { testFence } from './fence-conformance.ts';
import { testSlotStorm, testUnfencedStorm } from './storm-conformance.ts';
import { testSlotWorkers } from './worker-conformance.ts';

testFence(tempMetadata);
testSlotWorkers(tempMetadata);
testSlotStorm(tempMetadata);
testUnfencedStorm(tempMetadata);
