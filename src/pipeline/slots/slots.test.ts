import { tempMetadata } from '../../../test/support/metadata.ts';
import { testFence } from '../../../test/conformance/slots/fence.ts';
import { testSlotStorm, testUnfencedStorm } from '../../../test/conformance/slots/storm.ts';
import { testSlotWorkers } from '../../../test/conformance/slots/worker.ts';

testFence(tempMetadata);
testSlotWorkers(tempMetadata);
testSlotStorm(tempMetadata);
testUnfencedStorm(tempMetadata);
