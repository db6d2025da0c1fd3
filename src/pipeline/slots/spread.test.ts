import { tempMetadata } from '../../../test/support/metadata.ts';
import { testSpread, testUnsharedSpread } from '../../../test/conformance/slots/spread.ts';

testSpread(tempMetadata, [1, 2]);
testUnsharedSpread(tempMetadata);
